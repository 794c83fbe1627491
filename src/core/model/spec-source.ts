/** News of the pods of this node that the API server has told since the start. */
export interface SpecSource {
  /** It has told of pods: one that it has is there, whatever became of its sandbox. */
  readonly told: boolean;
  /** Pods that had CPUs before the start, by the runtime's uid, as long as its first complete list has to tell whether they are there. */
  readonly awaited: ReadonlySet<string>;
}

/** Without an API server, or before it was heard. */
export const SILENT: SpecSource = { told: false, awaited: new Set() };
