import { readFileSync, writeFileSync } from 'node:fs';
import type { RuntimeFacts } from '../../e2e/rig';
import { AttachedScript } from '../../e2e/rig/attached-script';
import { readClusterFacts } from './cluster-facts';

/** The message of scripts/cluster/kubelet.mjs when the kubelet runs. */
interface KubeletFacts {
  /** Its version, without the v. */
  readonly version: string;
  readonly configFile: string;
  /** The folder of static pods. */
  readonly manifests: string;
  /** The kubelet's root directory, as the host sees it. */
  readonly rootDir: string;
  readonly log: string;
}

interface KubeletEvents {
  readonly ready: KubeletFacts;
  readonly killed: object;
  readonly started: object;
  readonly stopped: object;
}

/** A real kubelet beside a private runtime. */
export interface KubeletProcess extends KubeletFacts {
  /** Ends it with SIGKILL; containers go on. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Changes its configuration for the next start. Null removes a setting. */
  configure(settings: Readonly<Record<string, unknown>>): void;
  stop(): Promise<void>;
}

/** Starts a kubelet, which ends with this process. The Node is not yet registered then. */
export async function startKubelet(options: {
  readonly runtime: RuntimeFacts;
  readonly name: string;
  readonly address: string;
  readonly settings: Readonly<Record<string, unknown>>;
}): Promise<KubeletProcess> {
  const { runtime, name, address, settings } = options;
  const script = new AttachedScript<KubeletEvents>({
    what: 'the kubelet',
    script: 'scripts/cluster/kubelet.mjs',
    args: [
      ...['--control-plane', JSON.stringify(readClusterFacts()), '--runtime', JSON.stringify(runtime)],
      ...['--name', name, '--address', address, '--settings', JSON.stringify(settings)],
    ],
  });
  const facts = await script.ready();
  return {
    ...facts,
    kill: () => script.command('kill', 'killed'),
    start: () => script.command('start', 'started'),
    configure(settings) {
      const config = { ...(JSON.parse(readFileSync(facts.configFile, 'utf8')) as object), ...settings };
      writeFileSync(facts.configFile, JSON.stringify(config));
    },
    async stop() {
      await script.stop();
    },
  };
}
