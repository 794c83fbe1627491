/** The fields of Kubernetes' objects that the tests read. */

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastHeartbeatTime?: string;
}

export interface KubeNode {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: {
    readonly conditions?: readonly Condition[];
    readonly nodeInfo: { readonly kubeletVersion: string; readonly containerRuntimeVersion: string };
    readonly allocatable: Readonly<Record<string, string>>;
  };
}

export interface ContainerStatus {
  readonly name: string;
  /** `containerd://ID` or `cri-o://ID`. */
  readonly containerID?: string;
  readonly ready: boolean;
  /** True when its startup probe has succeeded. */
  readonly started?: boolean;
  readonly restartCount: number;
  readonly state: {
    readonly running?: { readonly startedAt: string };
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: { readonly exitCode: number; readonly reason?: string };
  };
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

export interface KubePod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly namespace: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly containers: readonly object[] };
  readonly status: {
    readonly phase: string;
    readonly qosClass?: string;
    readonly podIP?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly ephemeralContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface KubeEvent {
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}
