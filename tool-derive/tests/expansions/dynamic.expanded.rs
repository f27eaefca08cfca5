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
/// Book a table.
fn book_table(hour: u8, seats: u8) -> String {
    format!("{seats} at {hour}")
}

/// The tool `book_table`, for `toolset!`. The fields are its parameters.
#[allow(
    dead_code,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    non_camel_case_types,
    private_interfaces,
    unreachable_pub
)]
struct book_table {
    pub hour: u8,
    pub seats: u8,
}

/// The context of the validator of `hour` of `book_table`.
#[derive(:: core :: clone :: Clone, :: core :: marker :: Copy)]
#[allow(dead_code, missing_debug_implementations, private_interfaces, unreachable_pub)]
struct BookTableHour<'a> {
    __call: &'a ::tool_runtime::__private::Context,
}

/// The context of the validator of `seats` of `book_table`.
#[derive(:: core :: clone :: Clone, :: core :: marker :: Copy)]
#[allow(dead_code, missing_debug_implementations, private_interfaces, unreachable_pub)]
struct BookTableSeats<'a> {
    /// The parameter `hour`, which is accepted.
    pub hour: &'a u8,
    __call: &'a ::tool_runtime::__private::Context,
}

#[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
const _: () = {
    #[allow(unused_imports)]
    use __rt::BuiltInTypeFallback as _;
    use ::tool_runtime::__private as __rt;
    static __DEF: __rt::Def = __rt::Def::new(
        "book_table",
        "Book a table.",
        &[
            __rt::BuiltInType::<u8>::CODE.field("hour", "").dynamic(),
            __rt::BuiltInType::<u8>::CODE.field("seats", "").dynamic(),
        ],
        {
            #[allow(unused_imports)]
            use __rt::{BareOutput as _, KindFallback as _, Undescribed as _, Unwritten as _};
            __rt::Kind::<String>::KIND.fits::<String>()
        },
    )
    .options(&__rt::Options { approval: __rt::Approval::When, ..__rt::Options::NEW });
    #[automatically_derived]
    impl __rt::Tool for book_table {
        type Input = book_table;
        type Output = String;
        const NAME: &'static ::core::primitive::str = "book_table";
        fn def() -> &'static __rt::Def {
            &__DEF
        }
        type Values = (u8, u8);
        fn input((_slot0, _slot1): Self::Values) -> Self {
            book_table { hour: _slot0, seats: _slot1 }
        }
    }
    #[automatically_derived]
    impl __rt::Validators for book_table {
        type States<'a> = ();
        const KEEPS: &'static [__rt::ValueSlot] = {
            #[allow(unused_imports)]
            use __rt::SlotWitnessFallback as _;
            &[__rt::SlotWitness::<u8>::KIND.dynamic(), __rt::SlotWitness::<u8>::KIND.dynamic()]
        };
        const NODES: &'static [__rt::Node] = &[
            __rt::Node { field: 0usize, requires: &[], after: &[] },
            __rt::Node { field: 1usize, requires: &[0usize], after: &[] },
        ];
        fn ask<'a: 'b, 'b>(
            _node: ::core::primitive::usize,
            _given: ::core::option::Option<__rt::StoredValue>,
            _known: __rt::ValidatorInputs<'b, Self::States<'a>>,
        ) -> __rt::ValidatorAnswer<'b> {
            #[allow(unused_imports)]
            use __rt::{ParameterValidatorFallback as _, ReturnedFallback as _, ValidatorFallback as _};
            match _node {
                0usize => __rt::Validator::<u8, BookTableHour<'b>, ()>::of(hour)
                    .ask(_given, BookTableHour { __call: _known.call })
                    .settle(),
                1usize => __rt::Validator::<u8, BookTableSeats<'b>, ()>::of(seats)
                    .ask(_given, BookTableSeats { hour: _known.value(0usize), __call: _known.call })
                    .settle(),
                _ => ::core::unreachable!("there are as many validators as nodes"),
            }
        }
        #[allow(unused_variables, unused_mut)]
        fn begin<'a>(
            _input: book_table,
            _states: Self::States<'a>,
            mut _derived: __rt::DerivedValues,
            _cx: &'a __rt::Context,
        ) -> __rt::AcceptedCall<'a> {
            let () = _states;
            __rt::AcceptedCall::new(
                {
                    #[allow(unused_imports)]
                    use __rt::CallPredicateFallback as _;
                    __rt::When::<book_table>::of(many).asks(&_input)
                },
                {
                    #[allow(unused_imports)]
                    use __rt::WorkFallback as _;
                    __rt::Work::<book_table>::plain_fn(&__DEF, move || book_table(_input.hour, _input.seats))
                },
            )
        }
    }
    #[allow(unused_variables)]
    fn __start<'a, __S>(
        _state: &'a __S,
        _text: &'a ::core::primitive::str,
        _cx: &'a __rt::Context,
    ) -> __rt::BoxFuture<'a, ::core::result::Result<__rt::AcceptedCall<'a>, __rt::DecodeError>> where {
        #[allow(unused_imports)]
        use __rt::ArgumentValidationFallback as _;
        __rt::ArgumentValidation::<book_table, ()>::settle(_text, (), _cx)
    }
    #[automatically_derived]
    impl<__S: 'static> __rt::WithState<__S> for book_table {
        const BINDING: __rt::Binding<__S> =
            __rt::Binding { def: <Self as __rt::Tool>::def, start: __rt::Start::Validated(__start::<__S>) };
    }
    #[automatically_derived]
    #[allow(dead_code, unreachable_pub)]
    impl<'a> BookTableHour<'a> {
        /// The call.
        fn call(&self) -> &'a __rt::Context {
            self.__call
        }
    }
    #[automatically_derived]
    #[allow(dead_code, unreachable_pub)]
    impl<'a> BookTableSeats<'a> {
        /// The call.
        fn call(&self) -> &'a __rt::Context {
            self.__call
        }
    }
};

#[cfg(not(test))]
#[allow(non_upper_case_globals)]
const _: [(); 2usize] = {
    #[deprecated(
        note = "the model sees only the name and the type of this parameter: write a doc comment on it, or `#[tool(allow(undescribed))]`"
    )]
    const undescribed: () = ();
    [undescribed, undescribed]
};
