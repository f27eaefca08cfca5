use tool_runtime::tools;

struct Shop;

trait Look {
    fn look(&self, query: String) -> String;
}

#[tools]
impl Look for Shop {
    /// Look something up.
    #[tool]
    fn look(
        &self,
        /// The words.
        #[arg(length(1..))]
        query: String,
    ) -> String {
        query
    }
}

#[tools]
trait Sell {
    /// Sell something.
    #[tool]
    fn sell(&self, #[arg(range(1..))] count: u32) -> u32;
}

impl Sell for Shop {
    fn sell(&self, count: u32) -> u32 {
        count
    }
}

fn main() {
    Shop.look(String::new());
    Shop.sell(1);
}
