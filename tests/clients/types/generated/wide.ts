// Made from the declarations of the tools: change those.

export type NineInput = {
  a: number;
  b: string;
  c: boolean;
  d?: number | null;
  e: number;
  f: number[];
  g: string;
  h: number;
  i: string;
};

export type NineOutput = Nine;

export type Nine = {
  a: number;
  b: string;
  c: boolean;
  d: number | null;
  e: number;
  f: number[];
  g: string;
  h: number;
  i: string;
};

export type SeventeenInput = {
  a: number;
  b: string;
  c: boolean;
  d?: number | null;
  e: number;
  f: number[];
  g: string;
  h: number;
  i: string;
  j: boolean;
  k?: string | null;
  l: number;
  m: boolean;
  n?: number | null;
  o: string;
  p: number;
  q: string[];
};

export type SeventeenOutput = Seventeen;

export type Seventeen = {
  a: number;
  b: string;
  c: boolean;
  d: number | null;
  e: number;
  f: number[];
  g: string;
  h: number;
  i: string;
  j: boolean;
  k: string | null;
  l: number;
  m: boolean;
  n: number | null;
  o: string;
  p: number;
  q: string[];
};

export type FortyInput = {
  p00: number;
  p01?: string | null;
  p02: boolean;
  p03?: number | null;
  p04?: number | null;
  p05: boolean;
  p06?: string | null;
  p07: boolean;
  p08?: number | null;
  p09: boolean;
  p10?: number[] | null;
  p11: boolean;
  p12?: boolean | null;
  p13: boolean;
  p14?: number | null;
  p15: boolean;
  p16?: number | null;
  p17: boolean;
  p18?: number | null;
  p19: boolean;
  p20?: number | null;
  p21: boolean;
  p22?: string | null;
  p23: boolean;
  p24?: boolean | null;
  p25: boolean;
  p26?: number | null;
  p27?: number | null;
  p28?: number | null;
  p29: boolean;
  p30?: string | null;
  p31: boolean;
  p32?: number | null;
  p33: boolean;
  p34?: string | null;
  p35: boolean;
  p36?: number | null;
  p37?: boolean | null;
  p38?: string | null;
  p39: number;
};

export type FortyOutput = Forty;

export type Forty = {
  p00: number;
  p01: string | null;
  p02: boolean;
  p03: number | null;
  p04: number | null;
  p05: boolean;
  p06: string | null;
  p07: boolean;
  p08: number | null;
  p09: boolean;
  p10: number[] | null;
  p11: boolean;
  p12: boolean | null;
  p13: boolean;
  p14: number | null;
  p15: boolean;
  p16: number | null;
  p17: boolean;
  p18: number | null;
  p19: boolean;
  p20: number | null;
  p21: boolean;
  p22: string | null;
  p23: boolean;
  p24: boolean | null;
  p25: boolean;
  p26: number | null;
  p27: number | null;
  p28: number | null;
  p29: boolean;
  p30: string | null;
  p31: boolean;
  p32: number | null;
  p33: boolean;
  p34: string | null;
  p35: boolean;
  p36: number | null;
  p37: boolean | null;
  p38: string | null;
  p39: number;
};

export type Tools = {
  /** Gives back its arguments. */
  nine: { input: NineInput; output: NineOutput };
  /** Gives back its arguments. */
  seventeen: { input: SeventeenInput; output: SeventeenOutput };
  /** Gives back its arguments. */
  forty: { input: FortyInput; output: FortyOutput };
};
