import { CpusetdError } from '../../core/errors';
import type { Known } from './facts';

/** The answer of the runtime to a call, or the reason why there is none. Throws nothing but programming errors. */
export async function answerOf<T>(call: Promise<T>): Promise<Known<T>> {
  try {
    return { ok: true, value: await call };
  } catch (error) {
    if (error instanceof CpusetdError) return { ok: false, because: error.message };
    throw error;
  }
}
