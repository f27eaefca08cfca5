// Made from the declarations of the tools: change those.

export type GetClimateInput = {
  /** The city's English name. */
  city: string;
  /** The month, 1 for January. */
  month: number;
};

export type GetClimateOutput = Climate;

/** The usual temperature of a city. */
export type Climate = {
  city: string;
  month: number;
  /** The mean temperature of the month, in degrees Celsius. */
  mean: number;
};

export type Tools = {
  /** Get the usual temperature of a city in a month. */
  get_climate: { input: GetClimateInput; output: GetClimateOutput };
};
