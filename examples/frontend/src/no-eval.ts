// zod, which the clients bring along, tries out whether it may make code at run time. The page's policy forbids that, and a
// browser would complain. It is told before it is loaded, so this is imported first.
(globalThis as { __zod_globalConfig?: object }).__zod_globalConfig = { jitless: true };

export {};
