// Made from the declarations of the tools: change those.

export type GetClimateInput = {
  /** The city's English name. */
  city: string;
  /** The month, 1 for January. */
  month: number;
  /**
   * The unit of the temperature.
   * @default "celsius"
   */
  unit?: Unit;
};

export type Unit = "celsius" | "fahrenheit";

export type GetClimateOutput = Climate;

/** The usual temperatures of a city. */
export type Climate = {
  city: string;
  month: string;
  /** The mean temperature of the month. */
  mean: number;
  unit: Unit;
};

export type Tools = {
  /** Get the usual temperature of a city in a month. */
  get_climate: { input: GetClimateInput; output: GetClimateOutput };
};
