// Made from the declarations of the tools: change those.

export type GetWeatherInput = {
  /** The city. */
  location: string;
};

export type GetWeatherOutput = Weather;

export type Weather = {
  city: string;
  /** In degrees Celsius. */
  temperature: number;
  /** In per cent. */
  humidity: number;
  /** In kilometres per hour. */
  windSpeed: number;
  /** In degrees Celsius. */
  feelsLike: number;
  conditions: string;
};

export type ReadRecipeInput = { [key: string]: never };

export type ReadRecipeOutput = unknown;

export type WriteRecipeInput = {
  /** The name of the dish. */
  title: string;
  /** The ingredients. */
  ingredients: Ingredient[];
  /** The steps, in order. */
  instructions: string[];
};

/** Something that goes into a dish. */
export type Ingredient = {
  /** An emoji. */
  icon: string;
  name: string;
  /** With its unit, such as `200 g`. */
  amount: string;
};

export type WriteRecipeOutput = string;

export type AddIngredientInput = {
  /** The ingredient to add. */
  ingredient: Ingredient;
};

export type AddIngredientOutput = string;

export type Tools = {
  /** Get the weather of a city. */
  get_weather: { input: GetWeatherInput; output: GetWeatherOutput };
  /** Read the recipe as it is on the page. */
  read_recipe: { input: ReadRecipeInput; output: ReadRecipeOutput };
  /** Write a whole recipe in place of the one on the page. */
  write_recipe: { input: WriteRecipeInput; output: WriteRecipeOutput };
  /** Add one ingredient to the recipe on the page. */
  add_ingredient: { input: AddIngredientInput; output: AddIngredientOutput };
};
