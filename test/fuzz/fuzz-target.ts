/** A decoder of foreign input, as a fuzzer calls it. */
export interface FuzzTarget {
  /** Inputs that the search begins with. `fixtures`: the path of `test/fixtures`. */
  readonly seeds: (fixtures: string) => readonly Uint8Array[];
  /**
   * Gives the input to the decoder. Throws, or rejects, when the decoder breaks a promise. A documented refusal is no
   * error.
   */
  readonly fuzz: (data: Buffer) => void | Promise<void>;
  /** Length of the longest input, in bytes. */
  readonly maxBytes: number;
}
