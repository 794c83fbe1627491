/** Code that reads what others wrote, as a fuzzer calls it. */
export interface FuzzTarget {
  /** Inputs that the search begins with. `fixtures`: the path of `test/fixtures`. */
  readonly seeds: (fixtures: string) => readonly Uint8Array[];
  /**
   * Gives the input to the code. Throws, or rejects, when the code breaks a promise; a refusal that the code documents
   * breaks none.
   */
  readonly fuzz: (data: Buffer) => void | Promise<void>;
  /** Bytes of the longest input that is tried. */
  readonly maxBytes: number;
}
