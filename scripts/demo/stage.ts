/** A container of the story, and what the outside world says of it. */
export interface Actor {
  /** The folder of its cgroup. */
  readonly folder: string;
  /** Observations of its beginning, as far as this stage has any. */
  beginning(): Promise<Beginning>;
  /** `cpuset.cpus` of its cgroup, read now. */
  cpuset(): string;
  /** Writes `cpuset.cpus` by hand, as someone does who knows nothing of cpusetd. */
  tamper(cpus: string): void;
}

export interface Beginning {
  /** The CPUs that it had then. */
  readonly own: string;
  /** `cpuset.cpus` of the container it was run beside, read then. */
  readonly neighbour?: string;
}

/** The daemon, as those see it who ask it, read its log or kill it. */
export interface Cpusetd {
  /** The answer of gRPC health, or why there is none. */
  health(service: string): Promise<string>;
  /** The reason in its log for pinning a container. */
  decision(container: string): Promise<{ readonly cpus: string; readonly because: string }>;
  /** The line in its log about a cpuset that somebody else wrote. */
  drift(): Promise<string>;
  /** The output of `cpusetd topology`. */
  topology(): Promise<string>;
  /** SIGKILL. Gives what ended the process: an exit status or a signal. */
  kill(): Promise<string>;
  /** Starts it on the state that it left. Gives how many assignments its log says it read back. */
  startAgain(): Promise<string>;
}

/** The place of the story: a real containerd, or an embedded runtime. */
export interface Stage {
  /** One line for the reader: what is real here. */
  readonly what: string;
  /** The CPUs of the machine, in the kernel's list format. */
  readonly machine: string;
  /** The thing that is looked at here, in the words of a claim. */
  readonly words: {
    readonly cpuset: string;
    /** {@link Beginning.own} */
    readonly own: string;
    /** {@link Beginning.neighbour} */
    readonly neighbour: (name: string) => string;
  };
  startDaemon(reserved: string): Cpusetd;
  /** Runs a pod of one container: `cpus` whole CPUs of its own (Guaranteed), or 0 for one of the shared pool. */
  run(name: string, cpus: number, beside?: Actor): Promise<Actor>;
  remove(name: string): Promise<void>;
  /** Ends and removes everything that it made. Gives what is still there after that. */
  close(): Promise<readonly string[]>;
}
