/** A container of the story, and what the outside world says of it. */
export interface Actor {
  /** What its own first process printed: the CPUs that it may run on. */
  firstWords(): Promise<string>;
  /** `cpuset.cpus` of its cgroup. */
  cpusOfKernel(): string;
  /** Writes `cpuset.cpus` by hand, as someone does who knows nothing of cpusetd. */
  tamper(cpus: string): void;
}

/** Where the story is played: on a real containerd, or on an embedded runtime. */
export interface Stage {
  /** One line for the reader: what is real here. */
  readonly what: string;
  /** The CPUs of the machine, in the kernel's list format. */
  readonly machine: string;
  /** Options of `cpusetd run` that lead it here. */
  readonly daemonArgs: readonly string[];
  /** What its environment has besides. */
  readonly daemonEnv?: Readonly<Record<string, string>>;
  /** Runs a pod of one container: `cpus` whole CPUs of its own (Guaranteed), or 0 for one of the shared pool. */
  run(name: string, cpus: number): Promise<Actor>;
  remove(name: string): Promise<void>;
  /** Removes everything that it made. */
  close(): Promise<void>;
}
