// Functions of an extension made callable from Python, without pybind11, whose headers take a compiler ten times as long.
//
// The conversions are those of pybind11 and torch's casters with implicit conversion allowed. A type that is not
// listed here doesn't compile, and the extension is built as torch builds it.
#pragma once
#include <Python.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

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

template <class... T>
struct Caster<std::tuple<T...>, std::enable_if_t<(sizeof...(T) > 0)>> {
  static PyObject* cast(const std::tuple<T...>& values) {
    return std::apply([](const T&... value) { return tuple_of(value...); }, values);
  }
};

template <class First, class Second>
struct Caster<std::pair<First, Second>> {
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

inline PyObject* refuse(const char* function, const std::vector<std::string>& wanted, PyObject* const* given,
                        Py_ssize_t count) {
  std::string message = std::string(function) + "(): incompatible function arguments. It takes (";
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    message += (i != 0 ? ", " : "") + wanted[i];
  }
  message += "), invoked with (";
  for (Py_ssize_t i = 0; i < count; ++i) {
    message += (i != 0 ? ", " : "") + std::string(Py_TYPE(given[i])->tp_name);
  }
  PyErr_SetString(PyExc_TypeError, (message + ")").c_str());
  return nullptr;
}

template <auto function, class Name>
struct Function;

template <class Result, class... Parameter, Result (*function)(Parameter...), class Name>
struct Function<function, Name> {
  static PyObject* call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    try {
      return call_with(given, count, std::index_sequence_for<Parameter...>{});
    } catch (const std::exception&) {
      torch::translate_exception_to_python(std::current_exception());
    } catch (...) {
      PyErr_SetString(PyExc_RuntimeError, "Caught an unknown exception!");
    }
    return nullptr;
  }

 private:
  template <std::size_t... i>
  static PyObject* call_with(PyObject* const* given, Py_ssize_t count, std::index_sequence<i...>) {
    std::tuple<Held<Parameter>...> held;
    if (count != static_cast<Py_ssize_t>(sizeof...(Parameter)) || !(std::get<i>(held).load(given[i]) && ...)) {
      return refuse(Name::text, {Held<Parameter>::name()...}, given, count);
    }
    if constexpr (std::is_void_v<Result>) {
      function(std::get<i>(held).pass()...);
      Py_RETURN_NONE;
    } else {
      return Caster<std::decay_t<Result>>::cast(function(std::get<i>(held).pass()...));
    }
  }
};

template <auto function, class Name>
PyMethodDef method(const char* doc) {
  auto* call = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&Function<function, Name>::call));
  return {Name::text, call, METH_FASTCALL, doc};
}

inline PyObject* make_module(PyModuleDef& definition) {
  try {
    if (!find_tensor_offset()) {
      PyErr_SetString(PyExc_ImportError, "this torch lays its tensors out in another way");
      return nullptr;
    }
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
    return nullptr;
  }
  return PyModule_Create(&definition);
}

}  // namespace harness
