import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { AttachedScript } from './attached-script';
import { type Define, listAsNotRun, missing } from './missing';
import { projectRoot } from './project-root';

/** The message of scripts/cluster/run.mjs when the API server is ready. */
export interface ControlPlaneFacts {
  readonly server: string;
  /** Kubeconfig files: `admin` has all rights, `nobody` none. */
  readonly kubeconfigs: { readonly admin: string; readonly nobody: string };
  readonly versions: Readonly<Record<string, string>>;
  /** The folder with the programs of Kubernetes, such as kubectl. */
  readonly programs: string;
  /** The folder with the logs of the components: `<program>.log`. */
  readonly work: string;
  /** One JSON line for each request. */
  readonly auditLog: string;
}

export interface ControlPlane extends ControlPlaneFacts {
  /** Kills a component; stored objects stay. */
  kill(component: string): Promise<void>;
  /** Starts a component, which may be one that was not started before. Waits until the API server answers. */
  start(component: string): Promise<void>;
  stop(): Promise<void>;
}

export interface ApiServer extends ControlPlaneFacts {
  /** Kills it; stored objects stay. */
  kill(): Promise<void>;
  /** Starts it again at the same address, and waits until it answers. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface ControlPlaneEvents {
  readonly ready: ControlPlaneFacts;
  readonly killed: object;
  readonly started: object;
  readonly stopped: object;
}

/** The exit status of prepare.mjs when programs have to be built and this machine cannot. */
const statusCannotBuild = 3;

/**
 * `describe` for tests that need the real API server. Without one, a line on stderr says why and they are skipped; with
 * CI=true they fail, unless only Go or the way to its modules is missing. The first call on a machine compiles it
 * (about five minutes).
 * @param modules further modules of scripts/go-programs whose programs are needed
 */
export function requireApiServer(...modules: readonly string[]): Define {
  const built = spawnSync(process.execPath, [join(projectRoot(), 'scripts/cluster/prepare.mjs'), ...modules], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 3_000_000,
  });
  if (built.status === 0) return describe;
  const said = (built.stderr ?? '').trim().split('\n').at(-1);
  const why = said || (built.error?.message ?? `ended by signal ${String(built.signal)}`);
  return (built.status === statusCannotBuild ? listAsNotRun : missing)('a real API server', why);
}

/** Starts an API server, which ends with this process. */
export async function startApiServer(): Promise<ApiServer> {
  const plane = await startControlPlane('--only-api-server');
  return {
    ...plane,
    kill: () => plane.kill('kube-apiserver'),
    start: () => plane.start('kube-apiserver'),
  };
}

/** Starts a control plane with these options of scripts/cluster/run.mjs. It ends with this process. */
export async function startControlPlane(...args: readonly string[]): Promise<ControlPlane> {
  const script = new AttachedScript<ControlPlaneEvents>({
    what: 'the control plane',
    script: 'scripts/cluster/run.mjs',
    args,
  });
  return {
    ...(await script.ready()),
    kill: (component) => script.command(`kill ${component}`, 'killed'),
    start: (component) => script.command(`start ${component}`, 'started'),
    async stop() {
      await script.stop();
    },
  };
}
