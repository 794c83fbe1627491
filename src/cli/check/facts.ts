import type { CpuSet } from '../../core/cpuset';
import type { JudgedBound } from '../../app/node/read-bound';
import type { TopologyManagerPolicy } from '../../core/model/settings';
import type { CgroupDriver } from '../../core/inference/kubepods';
import type { RuntimeSettings } from '../../cri/client';
import type { Located } from '../../host';
import type { KubeletConfig } from '../../kube';
import type { SocketPresence } from '../../net/claim-socket';
import type { StateJudgement } from '../state/show-state';

/** The facts of a node before cpusetd runs there. A fact that could not be read is absent, or has the reason. */
export interface NodeFacts {
  readonly mode: 'nri' | 'cri-proxy';
  /** Options that do not fit the machine, or are wrong. */
  readonly optionProblems: readonly string[];
  /** The configuration file that they are of; absent without one. */
  readonly optionsFrom?: string;
  readonly machine: Known<Machine>;
  /** CPUs that the options reserve; empty for none. */
  readonly reserved: CpuSet;
  /** The policy of cpusetd that aligns CPUs; absent where it gives none to any container. */
  readonly topologyManagerPolicy?: TopologyManagerPolicy;
  readonly nri: NamedSocket;
  /** The fate of a request that cpusetd does not answer in time. */
  readonly onUnanswered: 'allow' | 'refuse';
  /** In mode cri-proxy: the socket that the kubelet has to connect to; absent for one that systemd hands over. */
  readonly criListen?: string;
  /** Absent when it is off. */
  readonly cri?: NamedSocket;
  /** Absent when nobody listens on its CRI socket. */
  readonly runtime?: Known<RuntimeFacts>;
  /** cpusetd reads the specs of pods from the API server. */
  readonly readsSpecs: boolean;
  /** Some of the containers that run, and whose cgroups were looked for; absent when the runtime could not be asked. */
  readonly containers?: readonly LookedAt[];
  /** The reason why containers that may run were not looked for, as a sentence; absent when nothing was in the way. */
  readonly unseenContainers?: string;
  readonly admin: NamedSocket;
  readonly kubelet: KubeletFacts;
  readonly cgroups: Known<{
    readonly version: 1 | 2;
    readonly notWritable?: string;
    /** The controller of huge pages is not there. */
    readonly lacksHugetlb?: true;
    readonly driver?: CgroupDriver;
    /** The cgroup of the kubelet's pods, where there is one, as a path below the root of the hierarchy. */
    readonly pods?: { readonly cgroup: string; readonly hasCpuset: boolean };
    /** The CPUs that pods can have; absent where the machine is not known. */
    readonly bound?: JudgedBound;
  }>;
  /** False in a PID namespace of its own: processes of the host can't be seen. */
  readonly seesHost: boolean;
  /** Programs that write cpusets of containers and run here. */
  readonly managers: readonly string[];
  readonly irqbalance: boolean;
  readonly interrupts: {
    /** cpusetd is to move them off exclusive CPUs. */
    readonly areSteered: boolean;
    /** The reason why it can't move any. */
    readonly notWritable?: string;
  };
  /** CPUs that the first process of the host may use. */
  readonly hostAffinity?: CpuSet;
  /** The active profile of tuned, and the CPUs that its variables isolate, as they are written. */
  readonly tuned?: { readonly profile: string; readonly isolatedCores?: string };
  /** `nohz_full=…` and `rcu_nocbs=…` of the kernel command line. */
  readonly kernelParameters: readonly string[];
  /** The kernel's limits for one user. */
  readonly inotify?: { readonly watches: number; readonly instances: number };
  readonly stateDir: {
    readonly path: string;
    readonly problem?: string;
    readonly isInMemory: boolean;
    readonly freeBytes?: number;
  };
  /** The state on disk. */
  readonly state: StateJudgement;
  readonly programs: {
    /** The version of Node.js, as `v20.19.0`. */
    readonly node: string;
    readonly hasFlock: boolean;
  };
}

export interface RuntimeFacts {
  readonly name: string;
  readonly version: string;
  readonly settings: Known<RuntimeSettings>;
}

/** A container that runs, by its id, and the place of its cgroup. */
export interface LookedAt {
  readonly id: string;
  readonly cgroup: Located;
}

export type Known<T> =
  | { readonly ok: true; readonly value: T }
  /** `remedy`: the action that helps, where the one who failed knows it. */
  | { readonly ok: false; readonly because: string; readonly remedy?: string };

export interface Machine {
  readonly online: CpuSet;
  readonly offline: CpuSet;
  readonly isolated: CpuSet;
  /** `performance cores 0-3, efficiency cores 4-7`; empty where all cores are of one kind. */
  readonly kinds: string;
  /** `4 uncore caches`, or that none is known. */
  readonly caches: string;
  /** `hugepages-2Mi on memory nodes 0-1`; empty where none are set aside. */
  readonly hugePages: string;
  /** Sentences about sysfs that contradict each other: the machine was read without. */
  readonly ignored: readonly string[];
}

export interface NamedSocket {
  readonly path: string;
  readonly presence: SocketPresence;
}

/** Settings that the kubelet has on its command line: they win over its configuration file. */
export interface KubeletFlags {
  readonly config?: string;
  /** A folder of files that are merged over it. */
  readonly configDir?: string;
  readonly cpuManagerPolicy?: string;
  readonly memoryManagerPolicy?: string;
  readonly topologyManagerPolicy?: string;
  readonly reservedCpus?: string;
  /** It has `--kube-reserved` or `--system-reserved`. */
  readonly reservesByFlag: boolean;
  readonly runtimeEndpoint?: string;
  readonly cgroupRoot?: string;
  readonly cgroupDriver?: string;
}

/** The part of the kubelet's configuration file that is judged. */
export type KubeletFile = KubeletConfig & { readonly runtimeEndpoint?: string };

export interface KubeletFacts {
  readonly statePath: string;
  /** The content of its state file; `foreign`: it is nothing that a kubelet writes. */
  readonly state: 'none' | 'static' | 'missing' | 'foreign';
  /** Absent when no kubelet is seen to run. */
  readonly flags?: KubeletFlags;
  /** Its configuration, where it is known; the path for messages. */
  readonly config?: {
    readonly path: string;
    readonly read: Known<KubeletFile>;
    /** Sentences about what is there and does not count. */
    readonly remarks?: readonly string[];
  };
}
