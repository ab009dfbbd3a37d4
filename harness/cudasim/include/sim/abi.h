// What translated CUDA code and the simulator's runtime agree on. Needs no other header of ours.
#pragma once
#include <cstddef>
#include <cstdint>

// The text of a kernel's expression, as macros leave it.
#define SIM_TEXT(...) SIM_TEXT_(__VA_ARGS__)
#define SIM_TEXT_(...) #__VA_ARGS__

struct uint3 {
  unsigned int x, y, z;
};

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};

// blockDim and gridDim are thread-local, and a thread-local variable may have no constructor.
struct sim_extent {
  unsigned int x, y, z;
  operator dim3() const { return dim3(x, y, z); }
};

// Only translated .cu files see the device's names: in a .cpp file nvcc's host compiler has none of them.
#if defined(HARNESS_SIM_DEVICE)
#define SIM_THREAD_LOCAL extern __thread __attribute__((tls_model("initial-exec"), visibility("default")))
SIM_THREAD_LOCAL uint3 threadIdx;
SIM_THREAD_LOCAL uint3 blockIdx;
SIM_THREAD_LOCAL sim_extent blockDim;
SIM_THREAD_LOCAL sim_extent gridDim;
#undef SIM_THREAD_LOCAL
#endif

#define SIM_ERRORS(ITEM) \
  ITEM(cudaSuccess, 0) \
  ITEM(cudaErrorInvalidValue, 1) \
  ITEM(cudaErrorMemoryAllocation, 2) \
  ITEM(cudaErrorInitializationError, 3) \
  ITEM(cudaErrorInvalidConfiguration, 9) \
  ITEM(cudaErrorInvalidPitchValue, 12) \
  ITEM(cudaErrorInvalidSymbol, 13) \
  ITEM(cudaErrorInvalidHostPointer, 16) \
  ITEM(cudaErrorInvalidDevicePointer, 17) \
  ITEM(cudaErrorInvalidMemcpyDirection, 21) \
  ITEM(cudaErrorInsufficientDriver, 35) \
  ITEM(cudaErrorMissingConfiguration, 52) \
  ITEM(cudaErrorInvalidDeviceFunction, 98) \
  ITEM(cudaErrorNoDevice, 100) \
  ITEM(cudaErrorInvalidDevice, 101) \
  ITEM(cudaErrorNoKernelImageForDevice, 209) \
  ITEM(cudaErrorInvalidResourceHandle, 400) \
  ITEM(cudaErrorNotReady, 600) \
  ITEM(cudaErrorIllegalAddress, 700) \
  ITEM(cudaErrorLaunchOutOfResources, 701) \
  ITEM(cudaErrorLaunchTimeout, 702) \
  ITEM(cudaErrorAssert, 710) \
  ITEM(cudaErrorIllegalInstruction, 715) \
  ITEM(cudaErrorMisalignedAddress, 716) \
  ITEM(cudaErrorInvalidAddressSpace, 717) \
  ITEM(cudaErrorLaunchFailure, 719) \
  ITEM(cudaErrorCooperativeLaunchTooLarge, 720) \
  ITEM(cudaErrorNotSupported, 801) \
  ITEM(cudaErrorStreamCaptureUnsupported, 900) \
  ITEM(cudaErrorStreamCaptureInvalidated, 901) \
  ITEM(cudaErrorUnknown, 999)
#define SIM_ERROR(name, number) name = number,
typedef enum cudaError { SIM_ERRORS(SIM_ERROR) } cudaError_t;
#undef SIM_ERROR

extern "C" {
#pragma GCC visibility push(default)
typedef void (*sim_kernel_fn)(void*);

// Launches.
// `by_function` is null for <<<>>>; else it says which kernel it is, and whether its blocks may wait for each other.
struct sim_by_function {
  const void* kernel;
  bool is_cooperative;
};
void sim_launch(dim3 grid, dim3 block, size_t dynamic_shared, const char* kernel, const char* file, int line,
                sim_kernel_fn body, void* argument, const sim_by_function* by_function);
// A kernel whose address the host takes: its name, and how to launch it by that; null where nobody wrote that down.
void sim_name_kernel(const void* address, const char* name, void* launch);
void* sim_find_kernel(const void* address);
// The name of the kernel that a call launches, for as long as the process lives; from the call's text if need be.
const char* sim_kernel_name(const void* address, const char* call);
// Each argument of the launch that comes next, before it; `pointer` is null for what is none.
void sim_note_argument(const void* pointer, int position, bool is_const, bool is_opaque);
// False, and a finding, for a pointer that only the host can read.
bool sim_accepts_pointer(const void* pointer, int position, const char* kernel, const char* file, int line);
// False, and a finding, where a library's call would go beyond a device allocation.
bool sim_accepts_range(const void* pointer, size_t nbytes, const char* call);
// A thread's word that its block has more threads than the kernel's `most`: none of the launch runs.
void sim_exceed_launch_bounds(unsigned most);
// `call` is the text of cudaFuncSetAttribute's arguments: a kernel is known by its name, or by its address if it has one.
cudaError_t sim_set_kernel_attribute(const char* call, const void* address, int attribute, int value);
// How many blocks an SM holds, as far as threads and dynamic shared memory decide it.
int sim_blocks_per_multiprocessor(int threads, size_t dynamic_shared);

// Barriers and warp collectives; the caller's file and line go into findings.
enum sim_vote { sim_vote_count, sim_vote_and, sim_vote_or };
void sim_syncthreads(const char* file, int line);
int sim_syncthreads_vote(sim_vote vote, int predicate, const char* file, int line);
// Publishes `size` (at most 16) bytes, waits for the lanes of `mask`, then reads lane `source`; -1 reads its own.
void sim_warp_exchange(unsigned mask, const void* mine, void* out, int source, unsigned size, const char* what,
                       const char* file, int line);
unsigned sim_warp_ballot(unsigned mask, int predicate, const char* what, const char* file, int line);
unsigned sim_warp_match(unsigned mask, const void* mine, unsigned size, const char* file, int line);
// Like an exchange, but hands over the values of all lanes (`size` bytes each, by lane) that came, and their mask.
unsigned sim_warp_collect(unsigned mask, const void* mine, void* values, unsigned size, const char* what,
                          const char* file, int line);
// Barriers that count arrivals. A named one, of `count` threads or, if that is 0, of all. An mbarrier is known by its
// address from when it is initialised; `count` 0 ends it. Arriving may expect bytes, and those that have come count
// down; it gives the phase's parity.
void sim_named_barrier(unsigned number, unsigned count, bool waits, const char* file, int line);
void sim_mbarrier_init(void* barrier, unsigned count, const char* file, int line);
unsigned sim_mbarrier_arrive(void* barrier, unsigned count, int nbytes, bool drops_out, const char* file, int line);
// Waits until the phase of a parity has passed, or copies of its came, or nobody in the block can go on.
enum sim_woken { sim_woken_in_vain, sim_woken_by_phase, sim_woken_by_copy };
sim_woken sim_mbarrier_wait(void* barrier, unsigned parity, const char* file, int line);
// A copy that an mbarrier is to be told of: where to put its bytes, and then, for who waits, the next that has come, 0
// bytes for none.
void* sim_copy_bulk(void* to, unsigned nbytes, void* barrier, const char* file, int line);
unsigned sim_take_bulk(void* barrier, void** to, const void** bytes, const char* file, int line);
// From or to memory that is none of the device's.
void sim_copy_unseen(void* to, const void* from, size_t nbytes);
// The lanes that stand at the same line when no other thread of the block can go on.
unsigned sim_active_mask(const char* file, int line);
unsigned sim_linear_thread(void);
// All threads of the grid meet here; a grid that was not launched so can't.
void sim_grid_sync(const char* file, int line);
bool sim_is_cooperative(void);
// A thread that waits for what another one writes lets that one go on.
void sim_give_turn(void);
void sim_before_atomic(void);
void sim_trap(const char* what, const char* file, int line);
void sim_misaligned(const char* what, const char* file, int line);
// The launch ends, and is refused for what the simulator lacks.
void sim_lack(const char* what);

// Memory.
// `names`: the variables as declared.
void* sim_shared_static(const void* key, size_t size, size_t alignment, const char* names);
void* sim_shared_dynamic(void);
void* sim_shared_window(void);
// The byte at an offset into the window; what lies behind it is where nothing may be read or written.
void* sim_in_shared(unsigned offset);
// A thread's copies of up to 16 bytes that nobody has waited for. Taking gives the size of the next one that is due when
// at most `pending` groups may be left, 0 for none; -1 takes those of no group, too.
void sim_copy_async(void* to, const void* bytes, unsigned size);
void sim_commit_copies(void);
unsigned sim_take_copy(int pending, void** to, void* bytes);
void* sim_device_alloc(size_t nbytes);
void* sim_map_buffer(int fd, size_t offset, size_t nbytes, size_t period, int may_change);
int sim_device_free(void* pointer);
bool sim_is_device_memory(const void* pointer);
void sim_fill(void* pointer, int byte, size_t nbytes);
// The checked build: turned on before any memory is allocated, for good; what the host writes to device memory, and how
// many bytes of a range nobody wrote.
void sim_check(int is_on);
int sim_is_checking(void);
void sim_mark_written(void* pointer, size_t nbytes);
size_t sim_count_unwritten(const void* pointer, size_t nbytes, size_t* first);
size_t sim_copy_touched(void* destination, const void* source, size_t nbytes);

// Graphs: while torch's current stream is captured, the one that is not null, what is meant for it is kept instead of run.
void sim_begin_capture(void);
cudaError_t sim_end_capture(void);
int sim_is_capturing(void);
void* sim_current_stream(void);
bool sim_captures(const void* stream);
void sim_capture(void (*run)(void*), void* work);
// How many pieces of work all captures have kept; replays run some of them, in their order.
int64_t sim_captured(void);
void sim_replay(int64_t first, int64_t end);
// For what a capture doesn't allow: its error, which spoils the capture, or an exception where that is a gap of ours.
cudaError_t sim_synchronize(void);
void sim_refuse_in_capture(const char* what);

// Errors and the account that the harness reads.
cudaError_t sim_last_error(int clear);
void sim_set_last_error(int error);
cudaError_t sim_sticky_error(void);
const char* sim_error_string(int error);
const char* sim_last_launch_problem(void);
void sim_sample_blocks(long count, unsigned long seed);
// How many seconds the launches from now on may take together; 0 for any time.
void sim_limit_work(double seconds);
// What the simulator lacks and is about to refuse with an exception, which the host program may catch; or does refuse.
void sim_note_gap(const char* construct);
// What runs otherwise than on a GPU: work on a stream of its own.
void sim_note_stream(const char* made_by);
[[noreturn]] void sim_refuse(const char* construct);
// An operator of torch that ran, by its name, and how many elements the tensors have that it was given.
void sim_count_operator(const char* name, int64_t elements);
// The next place among all kernels and operators that ran, for a kernel that others run.
int64_t sim_next_place(void);
// The text of a translated file, for findings to quote.
bool sim_add_source(const char* file, const char* text);
// Begins a trace of kernels and operators anew, or ends it.
void sim_trace(int is_on);
// To be called whenever a trace begins or ends.
void sim_at_trace(void (*hook)(int is_on));
const char* sim_take_report(void);
void sim_reset_errors(void);

// CUDA builds of torch: where a stand-in's functions end, with their name and first argument; from when on they throw.
void* sim_absent(const char* mangled, void* self);
void sim_torch_is_loaded(void);
#pragma GCC visibility pop
}
