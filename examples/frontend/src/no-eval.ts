// The library zod, a dependency of the clients, tests whether it may generate code at run time. The page's policy forbids that, so
// the browser would log an error. This setting prevents the test. It must be set before zod is loaded.
(globalThis as { __zod_globalConfig?: object }).__zod_globalConfig = { jitless: true };

export {};
