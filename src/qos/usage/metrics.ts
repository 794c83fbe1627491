/** One series of a metric. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Time of the reading that it is of, in ms since 1970. */
  readonly atMs: number;
}

/** The collected metrics, by the names that Crane gives them. A metric without a value now has no entry. */
export type Metrics = ReadonlyMap<string, readonly Series[]>;

/** The labels of a series of a container, as Crane spells them. */
export interface ContainerLabels {
  readonly PodName: string;
  readonly PodNamespace: string;
  readonly PodUid: string;
  readonly ContainerName: string;
  readonly ContainerId: string;
  /** `true` when the container requests `gocrane.io/cpu` or `gocrane.io/memory`. */
  readonly HasExtRes: 'true' | 'false';
}
