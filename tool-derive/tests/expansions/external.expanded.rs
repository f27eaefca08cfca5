#[allow(dead_code)]
/// Ask the person which one they like.
struct Choose {
    /// The choices.
    options: Vec<String>,
}

#[allow(clippy::all, clippy::pedantic, deprecated, private_interfaces, missing_docs, unused_qualifications)]
const _: () = {
    #[allow(unused_imports)]
    use __rt::BuiltInTypeFallback as _;
    use ::tool_runtime::__private as __rt;
    static __F0: __rt::Field = __rt::BuiltInType::<Vec<String>>::CODE
        .field("options", "The choices.")
        .limits(&[__rt::Check::<Vec<String>>::length(2usize, ::core::option::Option::Some(9usize))]);
    static __FIELDS: [__rt::Field; 1usize] = [__F0];
    static __OUTPUT: __rt::FieldCode = {
        #[allow(unused_imports)]
        use __rt::{BareInput as _, BuiltInTypeFallback as _, Undecoded as _, Undescribed as _};
        __rt::TypeWitness::<String>::CODE.fits::<String>()
    };
    static __DEF: __rt::Def =
        __rt::Def::new("Choose", "Ask the person which one they like.", &__FIELDS, __OUTPUT.returned)
            .options(&__rt::Options { external: true, ..__rt::Options::NEW })
            .read_output(__OUTPUT.read);
    #[automatically_derived]
    impl __rt::Tool for Choose {
        type Input = Choose;
        type Output = String;
        const NAME: &'static ::core::primitive::str = "Choose";
        fn def() -> &'static __rt::Def {
            &__DEF
        }
        type Values = (Vec<String>,);
        fn input((_slot0,): Self::Values) -> Self {
            Choose { options: _slot0 }
        }
    }
    #[automatically_derived]
    impl __rt::Stateless for Choose {
        fn begin<'a>((_slot0,): <Self as __rt::Tool>::Values, _cx: &'a __rt::Context) -> __rt::AcceptedCall<'a> {
            let _input = Choose { options: _slot0 };
            __rt::AcceptedCall::new(false, { __rt::never_executed() })
        }
    }
};
