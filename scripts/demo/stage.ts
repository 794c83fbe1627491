/** A container of the story, observed from outside cpusetd. */
export interface Actor {
  /** The folder of its cgroup. */
  readonly folder: string;
  /** Observations of its first process, if this stage has any. */
  beginning(): Promise<Beginning>;
  /** `cpuset.cpus` of its cgroup, read now. */
  cpuset(): string;
  /** Writes `cpuset.cpus` directly, past cpusetd. */
  tamper(cpus: string): void;
}

export interface Beginning {
  /** The CPUs that it had at that time. */
  readonly own: string;
  /** `cpuset.cpus` of the other container at that time. */
  readonly neighbour?: string;
}

/** The daemon, as seen by its clients and by readers of its log. */
export interface Cpusetd {
  /** The answer of gRPC health, or the error. */
  health(service: string): Promise<string>;
  /** The reason in its log for pinning a container. */
  decision(container: string): Promise<{ readonly cpus: string; readonly because: string }>;
  /** The line in its log about a foreign write of a cpuset. */
  drift(): Promise<string>;
  /** The output of `cpusetd topology`. */
  topology(): Promise<string>;
  /** Sends SIGKILL. Gives the exit status or the signal that ended the process. */
  kill(): Promise<string>;
  /** Starts it again on its state. Gives the number of assignments that it restored, by its log. */
  startAgain(): Promise<string>;
}

/** The place of the story: a real containerd, or an embedded runtime. */
export interface Stage {
  /** One line for the reader that says which parts are real. */
  readonly what: string;
  /** The CPUs of the machine, in the kernel's list format. */
  readonly machine: string;
  /** The names of the observed values in claims. */
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
  /** Ends and removes everything that it made. Gives what is left after that. */
  close(): Promise<readonly string[]>;
}
