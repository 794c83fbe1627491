import type { Logger } from 'pino';
import { KubeError } from './kube-error';

/** The RBAC right that a request needs, and the function that is lost without it. */
export interface Right {
  readonly verb: string;
  /**
   * With its group where it has one, and its subresource: `nodes/proxy`, `noderesourcetopologies.topology.crane.io`.
   */
  readonly resource: string;
  /** Written for the operator. */
  readonly lost: string;
  /** The file that grants it; that of the API server's component by default. */
  readonly file?: string;
}

const DEFAULT_FILE = 'deploy/components/api-server/rbac.yaml';

/** Logs each right that the API server denies once: an operator may have left it out of the role on purpose. */
export class MissingRights {
  private readonly seen = new Set<string>();

  constructor(private readonly log: Pick<Logger, 'info'>) {}

  /** True for the error of a missing right (403). */
  note(error: unknown, { verb, resource, lost, file = DEFAULT_FILE }: Right): boolean {
    if (!(error instanceof KubeError && error.status === 403)) return false;
    const right = `${verb} ${resource}`;
    if (!this.seen.has(right))
      this.log.info(
        { verb, resource, lost, because: error.message },
        `a right is missing, see ${file}; this is not said again`,
      );
    this.seen.add(right);
    return true;
  }
}
