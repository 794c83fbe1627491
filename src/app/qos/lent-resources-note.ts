import type { FsOps } from '../../files/fs-ops';
import type { PublishedOnNode } from '../../state';
import type { DaemonContext } from '../context';
import { OWED } from '../owed-effects/owed';
import { OwedNote } from '../owed-effects/owed-note';

export interface LentResourcesNoteParts {
  readonly context: Pick<DaemonContext, 'alarms' | 'log'> & {
    readonly config: Pick<DaemonContext['config'], 'stateDir'>;
  };
  readonly nodeName: string;
  readonly fs?: FsOps;
}

/** The note on disk that resources are published on a Node. */
export class LentResourcesNote {
  private readonly note: OwedNote<PublishedOnNode>;

  constructor(private readonly parts: LentResourcesNoteParts) {
    const { alarms, log, config } = parts.context;
    const { stateDir } = config;
    this.note = new OwedNote(OWED.lentResources, { stateDir, alarms, log, ...(parts.fs && { fs: parts.fs }) });
  }

  get path(): string {
    return this.note.path;
  }

  /**
   * True when this process or an earlier one has published on our Node. Where that can't be known it may be ours: to
   * remove what is not there does no harm. A note about a Node of another name is forgotten: nobody knows whether that
   * Node is still this machine.
   */
  isOwed(): boolean {
    const left = this.note.load();
    if (left.kind === 'nothing') return false;
    const { nodeName } = this.parts;
    const noted = left.kind === 'known' ? left.value.nodeName : nodeName;
    if (noted === nodeName) return true;
    this.leaveToOther(noted);
    return false;
  }

  /**
   * Returns when it is durable that resources are published on our Node. Throws the system's error: they must not be
   * published then.
   */
  save(): void {
    this.note.save({ nodeName: this.parts.nodeName });
  }

  /** Removes the note durably. Throws the system's error. */
  forget(): void {
    this.note.forget();
  }

  private leaveToOther(node: string): void {
    const none = '{"gocrane.io/cpu":null,"gocrane.io/memory":null}';
    const remove = `kubectl patch node ${node} --subresource=status --type=merge -p '{"status":{"capacity":${none},"allocatable":${none}}}'`;
    this.parts.context.log.warn(
      { node, remove },
      'resources were published on a Node of another name: they are left there',
    );
    this.note.forget();
  }
}
