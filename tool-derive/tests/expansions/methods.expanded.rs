impl Counter {
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
    /// The next number.
    fn next(&self, number: u64) -> u64 {
        number + self.step
    }
}

/// The tool `next`, for `toolset!`. The fields are its parameters.
#[allow(
    dead_code,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    non_camel_case_types,
    private_interfaces,
    unreachable_pub
)]
struct CounterNext {
    pub number: u64,
}

#[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
const _: () = {
    #[allow(unused_imports)]
    use __rt::BuiltInTypeFallback as _;
    use ::tool_runtime::__private as __rt;
    static __DEF: __rt::Def =
        __rt::Def::new("next", "The next number.", &[__rt::BuiltInType::<u64>::CODE.field("number", "")], {
            #[allow(unused_imports)]
            use __rt::{BareOutput as _, KindFallback as _, Undescribed as _, Unwritten as _};
            __rt::Kind::<u64>::KIND.fits::<u64>()
        });
    #[automatically_derived]
    impl __rt::Tool for CounterNext {
        type Input = CounterNext;
        type Output = u64;
        const NAME: &'static ::core::primitive::str = "next";
        fn def() -> &'static __rt::Def {
            &__DEF
        }
        type Values = (u64,);
        fn input((_slot0,): Self::Values) -> Self {
            CounterNext { number: _slot0 }
        }
    }
    #[allow(unused_variables)]
    fn __work<'a>(_state0: &'a Counter, _input: CounterNext, _cx: &'a __rt::Context) -> __rt::CallFuture<'a> {
        {
            #[allow(unused_imports)]
            use __rt::WorkFallback as _;
            __rt::Work::<(CounterNext, &'a Counter)>::plain_fn(&__DEF, move || <Counter>::next(_state0, _input.number))
        }
    }
    #[allow(unused_variables)]
    fn __start<'a, __S>(
        _state: &'a __S,
        (_slot0,): <CounterNext as __rt::Tool>::Values,
        _cx: &'a __rt::Context,
    ) -> __rt::AcceptedCall<'a>
    where
        __S: __rt::Provide<Counter>,
    {
        let _input = CounterNext { number: _slot0 };
        __rt::AcceptedCall::new(false, { __work(__rt::Provide::<Counter>::provide(_state), _input, _cx) })
    }
    #[automatically_derived]
    impl<__S: 'static> __rt::WithState<__S> for CounterNext
    where
        __S: __rt::Provide<Counter>,
    {
        const BINDING: __rt::Binding<__S> = __rt::Binding {
            def: <Self as __rt::Tool>::def,
            start: __rt::Start::WithState(&__rt::BeginWithState(__start::<__S>)),
        };
    }
};

#[cfg(not(test))]
#[allow(non_upper_case_globals)]
const _: [(); 1usize] = {
    #[deprecated(
        note = "the model sees only the name and the type of this parameter: write a doc comment on it, or `#[tool(allow(undescribed))]`"
    )]
    const undescribed: () = ();
    [undescribed]
};

impl Counter {
    /// The tools that are declared on this type, bound to this value.
    #[allow(unused_qualifications)]
    pub fn toolset(self) -> ::tool_runtime::__private::Toolset {
        _ = ::core::option_env!("TOOL_EXPAND");
        #[allow(unused_imports)]
        use ::tool_runtime::__private as __rt;
        __rt::Toolset::bind(::std::sync::Arc::new(self), &[<CounterNext as __rt::WithState<Counter>>::BINDING])
    }
}
