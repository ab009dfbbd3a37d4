// Stands in where the real header isn't installed: types that torch's headers name, and nothing that does anything.
#pragma once
typedef struct cusolverDnContext* cusolverDnHandle_t;
typedef int cusolverStatus_t;
