// PYBIND11_MODULE without pybind11, whose headers take a compiler ten times as long: functions that m.def() makes
// callable from Python, with a docstring and py::arg()s.
//
// The conversions are those of pybind11 and torch's casters with implicit conversion allowed. What is not listed here,
// a type or a part of pybind11, doesn't compile, and the extension is built as torch builds it.
#pragma once
#include <Python.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Of libtorch_python, unchanged from torch 2.6 to 2.13; their headers bring pybind11 along.
extern PyObject* THPVariableClass;
PyObject* THPVariable_Wrap(const at::TensorBase& tensor);
namespace torch {
void translate_exception_to_python(const std::exception_ptr& error);
}

namespace harness {

// Where a torch.Tensor keeps its at::Tensor: behind the object's head since torch 2.10, a flag further before
// (c10::MaybeOwned). Found by looking at a tensor that we wrap ourselves.
inline std::size_t tensor_offset = 0;

inline bool find_tensor_offset() {
  const at::Tensor probe = at::empty({0});
  PyObject* wrapped = THPVariable_Wrap(probe);
  if (wrapped == nullptr) {
    return false;
  }
  for (const std::size_t offset : {sizeof(PyObject), sizeof(PyObject) + sizeof(void*)}) {
    const void* held = *reinterpret_cast<void* const*>(reinterpret_cast<const char*>(wrapped) + offset);
    if (tensor_offset == 0 && held == probe.unsafeGetTensorImpl()) {
      tensor_offset = offset;
    }
  }
  Py_DECREF(wrapped);
  return tensor_offset != 0;
}

inline const at::Tensor& tensor_in(PyObject* object) {
  return *reinterpret_cast<const at::Tensor*>(reinterpret_cast<const char*>(object) + tensor_offset);
}

// One reference, given back.
struct Owned {
  PyObject* object;
  ~Owned() {
    Py_XDECREF(object);
  }
};

// `load` is false where the object has no such value; no Python error is set then.
template <class T, class = void>
struct Caster;

template <>
struct Caster<at::Tensor> {
  static std::string name() {
    return "torch.Tensor";
  }
  static bool load(PyObject* object, at::Tensor& value) {
    const int is_tensor = PyObject_IsInstance(object, THPVariableClass);
    if (is_tensor != 1) {
      PyErr_Clear();
      return false;
    }
    value = tensor_in(object);
    return true;
  }
  static PyObject* cast(const at::Tensor& value) {
    return THPVariable_Wrap(value);
  }
};

template <>
struct Caster<bool> {
  static std::string name() {
    return "bool";
  }
  static bool load(PyObject* object, bool& value) {
    const PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
    if (object != Py_None && (methods == nullptr || methods->nb_bool == nullptr)) {
      return false;
    }
    const int truth = object == Py_None ? 0 : methods->nb_bool(object);
    PyErr_Clear();
    value = truth == 1;
    return truth != -1;
  }
  static PyObject* cast(bool value) {
    return PyBool_FromLong(value);
  }
};

template <class T>
struct Caster<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && (sizeof(T) > 1)>> {
  static std::string name() {
    return "int";
  }
  static bool load(PyObject* object, T& value) {
    if (PyFloat_Check(object)) {
      return false;
    }
    Owned number{PyNumber_Index(object)};
    if (number.object == nullptr && PyNumber_Check(object)) {
      PyErr_Clear();
      number.object = PyNumber_Long(object);
    }
    const bool is_loaded = number.object != nullptr && fits(number.object, value);
    PyErr_Clear();
    return is_loaded;
  }
  static PyObject* cast(T value) {
    if constexpr (std::is_signed_v<T>) {
      return PyLong_FromLongLong(value);
    } else {
      return PyLong_FromUnsignedLongLong(value);
    }
  }

 private:
  static bool fits(PyObject* number, T& value) {
    if constexpr (std::is_signed_v<T>) {
      const long long wide = PyLong_AsLongLong(number);
      value = static_cast<T>(wide);
      return !(wide == -1 && PyErr_Occurred()) && value == wide;
    } else {
      const unsigned long long wide = PyLong_AsUnsignedLongLong(number);
      value = static_cast<T>(wide);
      return !(wide == static_cast<unsigned long long>(-1) && PyErr_Occurred()) && value == wide;
    }
  }
};

template <class T>
struct Caster<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static std::string name() {
    return "float";
  }
  static bool load(PyObject* object, T& value) {
    double wide = PyFloat_AsDouble(object);
    if (PyErr_Occurred() && PyNumber_Check(object)) {
      PyErr_Clear();
      Owned number{PyNumber_Float(object)};
      wide = number.object != nullptr ? PyFloat_AsDouble(number.object) : -1.0;
    }
    value = static_cast<T>(wide);
    const bool is_loaded = !PyErr_Occurred();
    PyErr_Clear();
    return is_loaded;
  }
  static PyObject* cast(T value) {
    return PyFloat_FromDouble(value);
  }
};

template <>
struct Caster<std::string> {
  static std::string name() {
    return "str";
  }
  static bool load(PyObject* object, std::string& value) {
    Py_ssize_t length = 0;
    const char* text = nullptr;
    if (PyUnicode_Check(object)) {
      text = PyUnicode_AsUTF8AndSize(object, &length);
    } else if (PyBytes_Check(object)) {
      text = PyBytes_AS_STRING(object);
      length = PyBytes_GET_SIZE(object);
    }
    PyErr_Clear();
    if (text != nullptr) {
      value.assign(text, static_cast<std::size_t>(length));
    }
    return text != nullptr;
  }
  static PyObject* cast(const std::string& value) {
    return PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), nullptr);
  }
};

template <class T>
struct Caster<std::optional<T>> {
  static std::string name() {
    return "Optional[" + Caster<T>::name() + "]";
  }
  static bool load(PyObject* object, std::optional<T>& value) {
    if (object == Py_None) {
      value.reset();
      return true;
    }
    return Caster<T>::load(object, value.emplace());
  }
  static PyObject* cast(const std::optional<T>& value) {
    if (!value) {
      Py_RETURN_NONE;
    }
    return Caster<T>::cast(*value);
  }
};

template <class T>
struct Caster<std::vector<T>, std::enable_if_t<!std::is_same_v<T, bool>>> {
  static std::string name() {
    return "List[" + Caster<T>::name() + "]";
  }
  static bool load(PyObject* object, std::vector<T>& values) {
    if (!PySequence_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object)) {
      return false;
    }
    const Owned items{PySequence_Fast(object, "")};
    if (items.object == nullptr) {
      PyErr_Clear();
      return false;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.object);
    values.resize(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!Caster<T>::load(PySequence_Fast_GET_ITEM(items.object, i), values[static_cast<std::size_t>(i)])) {
        return false;
      }
    }
    return true;
  }
  static PyObject* cast(const std::vector<T>& values) {
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(values.size()));
    for (std::size_t i = 0; list != nullptr && i < values.size(); ++i) {
      PyObject* item = Caster<T>::cast(values[i]);
      if (item == nullptr) {
        Py_CLEAR(list);
      } else {
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
      }
    }
    return list;
  }
};

template <class... T>
PyObject* tuple_of(const T&... values) {
  PyObject* items[] = {Caster<T>::cast(values)...};
  PyObject* tuple = PyTuple_New(sizeof...(T));
  bool is_whole = tuple != nullptr;
  Py_ssize_t at = 0;
  for (PyObject* item : items) {
    is_whole = is_whole && item != nullptr;
    if (tuple != nullptr) {
      PyTuple_SET_ITEM(tuple, at++, item);
    }
  }
  if (!is_whole) {
    Py_CLEAR(tuple);
  }
  return tuple;
}

// Loads a sequence of as many items, a text among them, as pybind11 does.
template <class... T>
bool load_each(PyObject* object, T&... values) {
  if (!PySequence_Check(object)) {
    return false;
  }
  const Owned items{PySequence_Fast(object, "")};
  if (items.object == nullptr) {
    PyErr_Clear();
    return false;
  }
  Py_ssize_t at = 0;
  return PySequence_Fast_GET_SIZE(items.object) == sizeof...(T) &&
         (Caster<T>::load(PySequence_Fast_GET_ITEM(items.object, at++), values) && ...);
}

template <class First, class... T>
std::string tuple_name() {
  return "Tuple[" + (Caster<First>::name() + ... + (", " + Caster<T>::name())) + "]";
}

template <class... T>
struct Caster<std::tuple<T...>, std::enable_if_t<(sizeof...(T) > 0)>> {
  static std::string name() {
    return tuple_name<T...>();
  }
  static bool load(PyObject* object, std::tuple<T...>& values) {
    return std::apply([object](T&... value) { return load_each(object, value...); }, values);
  }
  static PyObject* cast(const std::tuple<T...>& values) {
    return std::apply([](const T&... value) { return tuple_of(value...); }, values);
  }
};

template <class First, class Second>
struct Caster<std::pair<First, Second>> {
  static std::string name() {
    return tuple_name<First, Second>();
  }
  static bool load(PyObject* object, std::pair<First, Second>& values) {
    return load_each(object, values.first, values.second);
  }
  static PyObject* cast(const std::pair<First, Second>& values) {
    return tuple_of(values.first, values.second);
  }
};

// A parameter's value while the function runs, and the form in which the function takes it.
template <class T>
struct Held {
  using Value = std::decay_t<T>;
  Value value{};
  bool load(PyObject* object) {
    return Caster<Value>::load(object, value);
  }
  static std::string name() {
    return Caster<Value>::name();
  }
  T pass() {
    return static_cast<T>(std::forward<T>(value));
  }
};

// torch's caster takes a list or a tuple here, nothing else.
template <>
struct Held<at::IntArrayRef> {
  std::vector<int64_t> value;
  bool load(PyObject* object) {
    return (PyList_Check(object) || PyTuple_Check(object)) && Caster<std::vector<int64_t>>::load(object, value);
  }
  static std::string name() {
    return "List[int]";
  }
  at::IntArrayRef pass() {
    return value;
  }
};

template <>
struct Held<const at::IntArrayRef&> : Held<at::IntArrayRef> {};

// py::arg("x"), and py::arg("x") = 1.
struct Argument {
  const char* name;
  PyObject* otherwise = nullptr;  // lives as long as the function, which is for ever

  explicit Argument(const char* parameter) : name(parameter) {}
  Argument(const char* parameter, PyObject* value) : name(parameter), otherwise(value) {}

  template <class T>
  Argument operator=(const T& value) const {
    return {name, Caster<T>::cast(value)};
  }
  Argument operator=(const char* value) const {
    return {name, Caster<std::string>::cast(value)};
  }
  Argument operator=(std::nullopt_t) const {
    return {name, Py_NewRef(Py_None)};
  }
};

// A function, and what Python is told of it.
template <class Result, class... Parameter>
class Function {
 public:
  template <class... Extra>
  Function(const char* name, Result (*function)(Parameter...), const Extra&... extra) : function_(function) {
    auto* call = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&Function::call));
    method = {name, call, METH_FASTCALL | METH_KEYWORDS, nullptr};
    (add(extra), ...);
    constexpr std::size_t named = (std::size_t{0} + ... + std::size_t{std::is_same_v<Extra, Argument>});
    static_assert(named == 0 || named == sizeof...(Parameter), "either all parameters have names or none has");
  }

  PyMethodDef method;

 private:
  static PyObject* call(PyObject* self, PyObject* const* given, Py_ssize_t positional, PyObject* keywords) {
    const auto& function = *static_cast<const Function*>(PyCapsule_GetPointer(self, nullptr));
    try {
      PyObject* values[sizeof...(Parameter) + 1] = {};
      if (!function.sort(values, given, positional, keywords)) {
        return function.refuse(given, positional, keywords);
      }
      std::tuple<Held<Parameter>...> held;
      if (!load(held, values, std::index_sequence_for<Parameter...>{})) {
        return function.refuse(given, positional, keywords);
      }
      return function.call_with(held, std::index_sequence_for<Parameter...>{});
    } catch (const std::exception&) {
      torch::translate_exception_to_python(std::current_exception());
    } catch (...) {
      PyErr_SetString(PyExc_RuntimeError, "Caught an unknown exception!");
    }
    return nullptr;
  }

  void add(const char* doc) {
    method.ml_doc = doc;
  }
  void add(const Argument& argument) {
    arguments_.push_back(argument);
  }

  // Each parameter's value, by place, by name, or by default; false where there is none, or one too many.
  bool sort(PyObject** values, PyObject* const* given, Py_ssize_t positional, PyObject* keywords) const {
    constexpr auto count = static_cast<Py_ssize_t>(sizeof...(Parameter));
    if (positional > count) {
      return false;
    }
    std::copy(given, given + positional, values);
    for (Py_ssize_t i = 0; keywords != nullptr && i < PyTuple_GET_SIZE(keywords); ++i) {
      const auto named = [&](const Argument& argument) {
        return PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, i), argument.name) == 0;
      };
      const auto found = std::find_if(arguments_.begin(), arguments_.end(), named) - arguments_.begin();
      if (found == static_cast<std::ptrdiff_t>(arguments_.size()) || values[found] != nullptr) {
        return false;
      }
      values[found] = given[positional + i];
    }
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      values[i] = values[i] != nullptr ? values[i] : arguments_[i].otherwise;
    }
    return std::find(values, values + count, nullptr) == values + count;
  }

  template <std::size_t... i>
  static bool load(std::tuple<Held<Parameter>...>& held, PyObject* const* values, std::index_sequence<i...>) {
    return (std::get<i>(held).load(values[i]) && ...);
  }

  template <std::size_t... i>
  PyObject* call_with(std::tuple<Held<Parameter>...>& held, std::index_sequence<i...>) const {
    if constexpr (std::is_void_v<Result>) {
      function_(std::get<i>(held).pass()...);
      Py_RETURN_NONE;
    } else {
      return Caster<std::decay_t<Result>>::cast(function_(std::get<i>(held).pass()...));
    }
  }

  PyObject* refuse(PyObject* const* given, Py_ssize_t positional, PyObject* keywords) const {
    std::string message = std::string(method.ml_name) + "(): incompatible function arguments. It takes (";
    const std::vector<std::string> wanted{Held<Parameter>::name()...};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      message += (i != 0 ? ", " : "") + (arguments_.empty() ? "" : std::string(arguments_[i].name) + ": ") + wanted[i];
    }
    message += "), invoked with (";
    const Py_ssize_t count = positional + (keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0);
    for (Py_ssize_t i = 0; i < count; ++i) {
      const char* name = i < positional ? nullptr : PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords, i - positional));
      message += (i != 0 ? ", " : "") + (name != nullptr ? std::string(name) + "=" : "") + Py_TYPE(given[i])->tp_name;
    }
    PyErr_SetString(PyExc_TypeError, (message + ")").c_str());
    return nullptr;
  }

  Result (*function_)(Parameter...);
  std::vector<Argument> arguments_;
};

// `m` of PYBIND11_MODULE. What goes wrong is a Python error that is set, with which the import fails.
class Module {
 public:
  explicit Module(PyObject* module) : module_(module) {}

  template <class Callable, class... Extra>
  Module& def(const char* name, const Callable& function, const Extra&... extra) {
    add(new_function(name, +function, as_given(extra)...), name);
    return *this;
  }

  struct Doc {
    PyObject* module;
    void operator=(const char* text) const {
      PyModule_SetDocString(module, text);
    }
  };
  Doc doc() const {
    return {module_};
  }

 private:
  static const char* as_given(const char* doc) {
    return doc;
  }
  template <class T>
  static const T& as_given(const T& extra) {
    return extra;
  }

  template <class Result, class... Parameter, class... Extra>
  PyObject* new_function(const char* name, Result (*function)(Parameter...), const Extra&... extra) {
    auto* made = new Function<Result, Parameter...>(name, function, extra...);  // for as long as the process lives
    const Owned self{PyCapsule_New(made, nullptr, nullptr)};
    const Owned of{PyModule_GetNameObject(module_)};
    return self.object != nullptr && of.object != nullptr ? PyCFunction_NewEx(&made->method, self.object, of.object)
                                                          : nullptr;
  }

  void add(PyObject* function, const char* name) {
    const Owned made{function};
    if (made.object == nullptr || PyErr_Occurred()) {
      return;
    }
    if (PyObject_HasAttrString(module_, name)) {
      PyErr_Format(PyExc_ImportError, "%s is overloaded, which pybind11 can alone", name);
    } else {
      PyObject_SetAttrString(module_, name, made.object);
    }
  }

  PyObject* module_;
};

inline PyObject* make_module(const char* name, void (*define)(Module&)) {
  // Not static: a static variable of an inline function is one for all libraries of the process.
  auto* definition = new PyModuleDef{PyModuleDef_HEAD_INIT, name, nullptr, -1, nullptr, nullptr, nullptr, nullptr,
                                     nullptr};
  PyObject* made = PyModule_Create(definition);
  if (made == nullptr) {
    return nullptr;
  }
  try {
    Module module(made);
    if (find_tensor_offset()) {
      define(module);
    } else {
      PyErr_SetString(PyExc_ImportError, "this torch lays its tensors out in another way");
    }
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
  }
  if (PyErr_Occurred()) {
    Py_CLEAR(made);
  }
  return made;
}

}  // namespace harness

#define HARNESS_JOINED(a, b) a##b
#define HARNESS_INIT(name) HARNESS_JOINED(PyInit_, name)
#define HARNESS_QUOTED(name) #name
#define HARNESS_TEXT(name) HARNESS_QUOTED(name)
#define PYBIND11_MODULE(name, variable)                              \
  static void harness_define(harness::Module&);                      \
  PyMODINIT_FUNC HARNESS_INIT(name)(void) {                          \
    return harness::make_module(HARNESS_TEXT(name), harness_define); \
  }                                                                  \
  static void harness_define([[maybe_unused]] harness::Module& variable)

namespace pybind11 {
using arg = harness::Argument;
}
namespace py = pybind11;

namespace torch {
// load_inline() binds with it what its `functions` name.
template <class Callable>
const Callable& wrap_pybind_function(const Callable& function) {
  return function;
}
}  // namespace torch
