/**
 * A file of a report before anything is left out of it. Data lose what is private by their structure, texts by words.
 */
export type Part =
  | { readonly name: string; readonly data: unknown }
  /**
   * JSON Lines, as the journal has them. Read when they are needed, each time anew, since a journal is large. Throws
   * Error.
   */
  | { readonly name: string; readonly lines: () => string }
  | { readonly name: string; readonly text: string };

/** A thing that belongs into the report and is not in it. */
export interface Missing {
  readonly name: string;
  readonly because: string;
}

export interface Collected {
  readonly parts: readonly Part[];
  readonly missing: readonly Missing[];
}
