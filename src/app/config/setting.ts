/** A text that was given for an option, with its place: every message about it names the place. */
export interface Setting {
  readonly name: string;
  readonly text: string;
  readonly origin: Origin;
}

export type Origin =
  | { readonly kind: 'flag' }
  | { readonly kind: 'env'; readonly variable: string }
  /** `group`: the section of the file that it is in; absent = for every node. */
  | { readonly kind: 'file'; readonly path: string; readonly line: number; readonly group?: string };

/** Names the place as the operator knows it: `--mode`, `CPUSETD_MODE`, `/etc/cpusetd.yaml:3: mode`. */
export function describePlace({ name, origin }: Pick<Setting, 'name' | 'origin'>): string {
  switch (origin.kind) {
    case 'flag':
      return `--${name}`;
    case 'env':
      return origin.variable;
    case 'file':
      return `${origin.path}:${origin.line}: ${name}`;
  }
}

/**
 * The place where an option, by its name without dashes, was set; its flag where it was not. `withText`: with the text
 * that was given there.
 */
export type PlaceOf = (name: string, options?: { readonly withText?: boolean }) => string;

/** The settings of one source, and the problems of the source itself, in words for the operator. */
export interface Source {
  readonly settings: readonly Setting[];
  readonly problems: readonly string[];
  /** Names of options that were set here in a way that could not be read; `all` = any of them may have been. */
  readonly unread?: readonly string[] | 'all';
}

/** The settings of a file. */
export interface FileSource extends Source {
  readonly groups?: readonly NodeGroup[];
  /** Settings of options that were set in the same place before: which of them is meant is not known. */
  readonly repeated?: readonly Setting[];
  /** The file as it was read; absent when it could not be. */
  readonly text?: string;
}

/** The nodes of a group. It has at least one part, and a node has to match both where both are given. */
export interface NodeMatch {
  /** Names of Nodes, in which `*` stands for any text. A node matches one of them. */
  readonly nodeNames?: readonly string[];
  /** A node has all of these labels, with these values. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
}

/** A section of the file for some nodes. */
export interface NodeGroup {
  readonly name: string;
  readonly line: number;
  readonly match: NodeMatch;
  readonly settings: readonly Setting[];
}
