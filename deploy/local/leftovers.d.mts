export const markVariable: string;

export const lookEveryMs: number;

export const endLimitMs: number;

export class Family {
  constructor(root: number);
  look(): number[];
}
