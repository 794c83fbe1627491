/** One of the causes that the API server names for a refusal. */
export interface KubeCause {
  /** A word of the server, e.g. `DisruptionBudget`. */
  readonly reason: string;
  readonly message: string;
}

/** An answer of the API server that is not a success, or none at all. The message is written for the operator. */
export class KubeError extends Error {
  override readonly name = 'KubeError';

  constructor(
    message: string,
    /** HTTP status; 0 when no answer came. */
    readonly status: number,
    options: {
      /** The `reason` of the Status object, e.g. `AlreadyExists`. */
      readonly reason?: string;
      /** Time after which the server allows another request. */
      readonly retryAfterMs?: number;
      /** The `causes` of the Status object. */
      readonly causes?: readonly KubeCause[];
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.reason = options.reason ?? '';
    this.retryAfterMs = options.retryAfterMs;
    this.causes = options.causes ?? [];
  }

  readonly reason: string;
  readonly causes: readonly KubeCause[];
  readonly retryAfterMs: number | undefined;
}

/** Explains any failure of a call to the API server in one sentence for the operator. */
export function explainKubeError(error: unknown): string {
  if (error instanceof KubeError) return error.message;
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  return typeof code === 'string' ? code : 'the API server did not answer';
}

/** Explains a status to the operator; `message` is the server's own sentence. */
export function explainStatus(status: number, message: string): string {
  const meaning: Readonly<Record<number, string>> = {
    401: 'the API server does not know who we are (401): the credentials in the kubeconfig are missing or expired',
    403: 'the API server forbids it (403): see deploy/components/api-server/rbac.yaml (usage rules: deploy/components/qos/rbac.yaml; annotator and extender: deploy/scheduling/rbac.yaml) for the rights that are needed',
    404: 'the API server does not know it (404)',
    409: 'somebody else changed it at the same time (409)',
    410: 'what was asked for is too old for the API server (410)',
    429: 'the API server asks to slow down (429)',
  };
  const sentence = meaning[status] ?? `the API server answered with status ${status}`;
  return message === '' ? sentence : `${sentence}: ${message}`;
}
