import type { PodSource } from '../../admin/model/status';
import { PodInformer, type WatchedPod } from '../../kube';
import type { DaemonContext } from '../context';
import type { Transactor } from '../transaction/transactor';
import { ApiServerConnection } from './api-server-connection';
import type { KubeAccess } from './kube-access';
import { PodIngest } from './pod-ingest';

export interface FollowedPodsParts {
  readonly context: DaemonContext;
  readonly access: KubeAccess;
  readonly transactor: Pick<Transactor, 'handle'>;
  /** The pods have changed. */
  readonly onUpdate: () => void;
}

/** Brings the pods of this node into the model, and says how current they are. */
export class FollowedPods {
  private readonly connection: ApiServerConnection;
  private readonly informer: PodInformer;
  private lastUpdateAt: string | undefined;

  constructor(private readonly parts: FollowedPodsParts) {
    const { context, access, transactor } = parts;
    const ingest = new PodIngest({ transactor, log: context.log, signal: access.signal });
    this.connection = new ApiServerConnection({ context, access });
    this.informer = new PodInformer({
      ...access,
      sink: {
        onList: (specs) => {
          access.log.info({ pods: specs.length }, 'the API server sent the pods of this node');
          this.update(() => ingest.onList(specs));
        },
        onPod: (spec) => this.update(() => ingest.onPod(spec)),
        onGone: (uid) => this.update(() => ingest.onGone(uid)),
      },
      onState: (state, reason) => this.connection.become(state, reason),
    });
  }

  start(): void {
    this.informer.start();
  }

  /** All pods of the API server on this node; undefined before the first list. */
  get list(): readonly WatchedPod[] | undefined {
    return this.informer.pods;
  }

  /** The connection and the pods, in the shape of status. */
  get source(): PodSource {
    const { lastUpdateAt: heardAt } = this;
    return { ...this.connection.current, pods: this.list?.length ?? 0, ...(heardAt !== undefined && { heardAt }) };
  }

  private update(ingest: () => void): void {
    this.lastUpdateAt = this.parts.context.now();
    ingest();
    this.parts.onUpdate();
  }
}
