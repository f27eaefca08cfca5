use tool_run::run::judge::judge_call;

fn main() {}
