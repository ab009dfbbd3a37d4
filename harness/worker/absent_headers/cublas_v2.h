// Stands in where the real header isn't installed: types that torch's headers name, and nothing that does anything.
#pragma once
typedef struct cublasContext* cublasHandle_t;
typedef int cublasStatus_t;
