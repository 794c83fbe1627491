import type { Logger } from 'pino';
import { CpusetdError, type ErrorCode } from '../../core/errors';

/** Says once that the runtime can't be listed, and when it can again; every round asks. */
export class ListingLog {
  private failing: ErrorCode | undefined;

  constructor(private readonly parts: { readonly log: Logger; readonly signal: AbortSignal }) {}

  /** An answer of the runtime, or of the way to it, with what helps. Throws what is neither: a fault of our own. */
  failed(error: unknown): void {
    const { log, signal } = this.parts;
    if (!(error instanceof CpusetdError)) throw error;
    if (signal.aborted) return; // our own end cancels what is under way
    const isNews = error.code !== this.failing;
    this.failing = error.code;
    if (isNews) log.warn({ because: error.message }, 'the runtime could not be listed');
    else log.debug({ because: error.message }, 'the runtime could not be listed');
  }

  worked(): void {
    if (this.failing === undefined) return;
    this.failing = undefined;
    this.parts.log.info('the runtime is listed again');
  }
}
