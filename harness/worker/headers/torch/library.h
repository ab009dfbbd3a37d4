// Slim: without registration of operators.
#pragma once
