#[cfg_attr(
    clippy,
    allow(
        clippy::needless_pass_by_value,
        clippy::too_many_arguments,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_async,
        clippy::unused_self,
    )
)]
/// Delete a file.
fn delete(path: String, files: &Files) -> bool {
    files.delete(&path)
}

/// The tool `delete`, for `toolset!`. The fields are its parameters.
#[allow(
    dead_code,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    non_camel_case_types,
    private_interfaces,
    unreachable_pub
)]
struct delete {
    pub path: String,
}

#[allow(clippy::all, clippy::pedantic, private_interfaces, missing_docs)]
const _: () = {
    use ::tool_runtime::__private as __rt;
    impl __rt::Tool for delete {
        type Input = delete;
        type Output = bool;
        type Values = ();
        const NAME: &'static ::core::primitive::str = "delete";
        fn def() -> &'static __rt::Def {
            ::core::unreachable!("this does not compile")
        }
        fn input((): ()) -> delete {
            ::core::unreachable!("this does not compile")
        }
    }
    impl<__S: 'static> __rt::WithState<__S> for delete {
        const BINDING: __rt::Binding<__S> = __rt::Binding {
            def: <Self as __rt::Tool>::def,
            start: __rt::Start::Validated(|_, _, _| ::core::unreachable!("this does not compile")),
        };
    }
};

::core::compile_error! { "expected a time, such as `\"500ms\"`, `\"30s\"`, `\"5m\"` or `\"1h\"`, above zero" }
::core::compile_error! { "a destructive tool needs a rule for its approval: add `approval = always` or `approval = when(…)`, or `approval = never` if nobody has to approve it" }
