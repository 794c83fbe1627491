import { unwatchFile, watchFile } from 'node:fs';
import type { Logger } from 'pino';
import type { SchedulerPolicy } from '../policy/policy';
import { readPolicyFile } from '../policy/read-policy-file';

/** A mounted ConfigMap changes by a link to another folder, which only looking at the file shows. */
const LOOK_MS = 5_000;

/** The policy in force: that of the file, read again when the file changes. A file with problems changes nothing. */
export class PolicyWatch {
  private policy: SchedulerPolicy;
  private readonly look = (): void => {
    this.read().catch((err: unknown) => this.parts.log.error({ err }, 'the changed policy file could not be read'));
  };

  constructor(
    private readonly parts: {
      readonly path: string;
      readonly first: SchedulerPolicy;
      readonly onReload: (result: 'ok' | 'failed') => void;
      readonly log: Logger;
    },
  ) {
    this.policy = parts.first;
    watchFile(parts.path, { interval: LOOK_MS, persistent: false }, this.look);
  }

  readonly current = (): SchedulerPolicy => this.policy;

  close(): void {
    unwatchFile(this.parts.path, this.look);
  }

  private async read(): Promise<void> {
    const { path, onReload, log } = this.parts;
    const read = await readPolicyFile(path);
    onReload(read.ok ? 'ok' : 'failed');
    if (read.ok) {
      this.policy = read.policy;
      log.info({ remarks: read.remarks }, 'the policy file has changed and is in force');
    } else
      log.error({ problems: read.problems }, 'the changed policy file can’t be used; the old policy stays in force');
  }
}
