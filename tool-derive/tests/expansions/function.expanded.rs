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
/// Find a customer's orders.
async fn find_orders(customer: u32, limit: usize, orders: &Orders) -> Result<Vec<String>, Failure> {
    orders.of(customer, limit).await
}

/// The tool `find_orders`, for `toolset!`. The fields are its parameters.
#[allow(
    dead_code,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    non_camel_case_types,
    private_interfaces,
    unreachable_pub
)]
struct find_orders {
    pub customer: u32,
    pub limit: usize,
}

#[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
const _: () = {
    #[allow(unused_imports)]
    use __rt::BuiltInTypeFallback as _;
    use ::tool_runtime::__private as __rt;
    static __F0: __rt::Field = __rt::BuiltInType::<u32>::CODE.field("customer", "The customer's number.").limits(&[
        __rt::Check::<u32>::range(
            ::core::option::Option::Some(__rt::Number::Int(1i128)),
            ::core::option::Option::None,
            false,
        ),
    ]);
    static __F1: __rt::Field = __rt::BuiltInType::<usize>::CODE
        .field("limit", "The largest number of results.")
        .default(&__rt::DefaultValue::<usize>(|| 10), || __rt::constant("10"));
    static __FIELDS: [__rt::Field; 2usize] = [__F0, __F1];
    static __DEF: __rt::Def = __rt::Def::new("find_orders", "Find a customer's orders.", &__FIELDS, {
        #[allow(unused_imports)]
        use __rt::{BareOutput as _, KindFallback as _, Undescribed as _, Unwritten as _};
        __rt::Kind::<Result<Vec<String>, Failure>>::KIND.fits::<String>()
    })
    .options(&__rt::Options { effect: __rt::Effect::ReadOnly, ..__rt::Options::NEW });
    #[automatically_derived]
    impl __rt::Tool for find_orders {
        type Input = find_orders;
        type Output = Vec<String>;
        const NAME: &'static ::core::primitive::str = "find_orders";
        fn def() -> &'static __rt::Def {
            &__DEF
        }
        type Values = (u32, usize);
        fn input((_slot0, _slot1): Self::Values) -> Self {
            find_orders { customer: _slot0, limit: _slot1 }
        }
    }
    #[allow(unused_variables)]
    fn __work<'a>(_state0: &'a Orders, _input: find_orders, _cx: &'a __rt::Context) -> __rt::CallFuture<'a> {
        {
            #[allow(unused_imports)]
            use __rt::WorkFallback as _;
            __rt::Work::<(find_orders, &'a Orders)>::async_fn(
                &__DEF,
                find_orders(_input.customer, _input.limit, _state0),
            )
        }
    }
    #[allow(unused_variables)]
    fn __start<'a, __S>(
        _state: &'a __S,
        (_slot0, _slot1): <find_orders as __rt::Tool>::Values,
        _cx: &'a __rt::Context,
    ) -> __rt::AcceptedCall<'a>
    where
        __S: __rt::Provide<Orders>,
    {
        let _input = find_orders { customer: _slot0, limit: _slot1 };
        __rt::AcceptedCall::new(false, { __work(__rt::Provide::<Orders>::provide(_state), _input, _cx) })
    }
    #[automatically_derived]
    impl<__S: 'static> __rt::WithState<__S> for find_orders
    where
        __S: __rt::Provide<Orders>,
    {
        const BINDING: __rt::Binding<__S> = __rt::Binding {
            def: <Self as __rt::Tool>::def,
            start: __rt::Start::WithState(&__rt::BeginWithState(__start::<__S>)),
        };
    }
};
