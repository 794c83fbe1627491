/** Time for which something is left alone after an attempt: others have their turn, and news of it arrive. */
export const LEFT_ALONE_MS = 60_000;

interface Attempt {
  /** Time of the monotonic clock. */
  readonly untilMs: number;
  readonly because?: string;
}

/** Pods or containers that an action was tried against a moment ago. */
export class LeftAlone {
  private readonly attempts = new Map<string, Attempt>();

  /** `what` names the attempt in reasons; `elapsedMs`: the monotonic clock, in ms. */
  constructor(
    private readonly what: string,
    private readonly elapsedMs: () => number,
  ) {}

  /** `because`: it was refused or has failed; absent = it had an effect. */
  add(key: string, because?: string): void {
    const untilMs = this.elapsedMs() + LEFT_ALONE_MS;
    this.attempts.set(key, { untilMs, ...(because !== undefined && { because: `${this.what}: ${because}` }) });
  }

  /** The reasons of those whose attempt was refused or has failed. */
  get reasons(): ReadonlyMap<string, string> {
    return new Map(
      [...this.current()].flatMap(([key, { because }]) => (because === undefined ? [] : [[key, because]])),
    );
  }

  /** True for one whose attempt had an effect. */
  isHit(key: string): boolean {
    const attempt = this.current().get(key);
    return attempt !== undefined && attempt.because === undefined;
  }

  private current(): ReadonlyMap<string, Attempt> {
    for (const [key, { untilMs }] of this.attempts) if (this.elapsedMs() >= untilMs) this.attempts.delete(key);
    return this.attempts;
  }
}
