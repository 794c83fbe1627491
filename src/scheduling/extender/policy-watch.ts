import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { readBounded } from '../../files/read-bounded';
import type { SchedulerPolicy } from '../policy/policy';
import { MAX_POLICY_BYTES, readPolicyFile } from '../policy/read-policy-file';

export interface PolicyWatchParts {
  readonly path: string;
  /** The policy that the file had when it was read before. */
  readonly first: SchedulerPolicy;
  readonly onReload: (result: 'ok' | 'failed') => void;
  readonly log: Logger;
  /** Time between two looks at the file. Default: 5 s. */
  readonly lookMs?: number;
}

/**
 * The policy in force: that of the file, read again when the file has other content. A file with problems changes
 * nothing. The content is compared, since a mounted ConfigMap changes by a link to another folder, and the file may
 * have changed before the first look.
 */
export class PolicyWatch {
  private policy: SchedulerPolicy;
  private readonly timer: NodeJS.Timeout;
  /** The content at the last look, or the reason why there was none. */
  private seen: string | undefined;
  private refused = false;

  constructor(private readonly parts: PolicyWatchParts) {
    this.policy = parts.first;
    const look = (): void => {
      this.look().catch((err: unknown) => parts.log.error({ err }, 'the changed policy file could not be read'));
    };
    this.timer = setInterval(look, parts.lookMs ?? 5_000).unref();
  }

  readonly current = (): SchedulerPolicy => this.policy;

  /** True while the file has mistakes, so that the policy in force is an older one. */
  get isRefused(): boolean {
    return this.refused;
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    const { path, onReload, log } = this.parts;
    const content = readBounded(path, MAX_POLICY_BYTES);
    const now = content.ok ? content.text : content.because;
    if (now === this.seen) return;
    this.seen = now;
    const read = await readPolicyFile(path);
    this.refused = !read.ok;
    if (!read.ok) {
      onReload('failed');
      log.error({ problems: read.problems }, 'the changed policy file can’t be used; the old policy stays in force');
    } else if (!isDeepStrictEqual(read.policy, this.policy)) {
      this.policy = read.policy;
      onReload('ok');
      log.info({ remarks: read.remarks }, 'the policy file has changed and is in force');
    }
  }
}
