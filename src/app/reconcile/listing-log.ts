import type { Logger } from 'pino';
import { CpusetdError } from '../../core/errors';
import { LastProblem } from '../../net/connection-state';

/** Logs once that the runtime can't be listed, and when it can be again; every round asks. */
export class ListingLog {
  private readonly problem = new LastProblem();

  constructor(private readonly parts: { readonly log: Logger; readonly signal: AbortSignal }) {}

  /**
   * Logs an error of the runtime or of the connection, with the remedy. Throws any other error: it is a fault of our
   * own.
   */
  failed(error: unknown): void {
    const { log, signal } = this.parts;
    if (!(error instanceof CpusetdError)) throw error;
    if (signal.aborted) return; // our own end cancels what is under way
    if (this.problem.isNew(error.code)) log.warn({ because: error.message }, 'the runtime could not be listed');
    else log.debug({ because: error.message }, 'the runtime could not be listed');
  }

  worked(): void {
    if (this.problem.clear()) this.parts.log.info('the runtime is listed again');
  }
}
