import type { KubeletConfig } from '../../kube';
import type { Config, LiveOptions, Loaded, LoadedConfig } from '../config';
import type { RunningSettings } from '../config/running-settings';
import type { ConfigInForce } from '../config/settings';
import type { DaemonContext } from '../context';
import type { Part } from '../lifecycle/part';
import type { Transactor } from '../transaction/transactor';
import { ConfigFileWatch } from './config-file-watch';
import { Reloader } from './reloader';

export interface ReloadNeeds {
  readonly context: DaemonContext;
  readonly transactor: Pick<Transactor, 'change'>;
  readonly loaded: Loaded;
  readonly live: LiveOptions;
  readonly rules: RunningSettings;
  /** Has an event `hangup` when the options are to be read again. */
  readonly hangup: EventTarget;
  readonly labels: {
    load(): Promise<LoadedConfig>;
    onChange: () => void;
  };
  readonly kubelet: {
    readonly config: KubeletConfig | undefined;
    withReservation(config: Config): ConfigInForce;
    adoptAgain(): void;
    onAccept: () => void;
  };
}

/** Takes changed options over from now on: when the file or the labels of the Node have changed, or on request. */
export const reloadPart: Part<ReloadNeeds> = {
  name: 'reload',
  isWanted: () => true,
  open: ({ context, transactor, loaded, live, rules, hangup, labels, kubelet }) => {
    const { events, faults, log, signal } = context;
    const reloader = new Reloader({
      context,
      transactor,
      options: live,
      rules,
      load: () => labels.load(),
      withReservation: (config) => kubelet.withReservation(config),
    });
    const contain = (reading: Promise<void>): void => {
      reading.catch((error: unknown) => faults.note('reading the options again', error));
    };
    const reload = (): void => contain(reloader.reload());
    const retry = (): void => contain(reloader.retry());
    events.on('optionsChanged', 'following the reservation', () => kubelet.adoptAgain());
    events.on('optionsChanged', 'following the log level', ({ logLevel }) => (log.level = logLevel));
    events.on('committed', 'trying options again that did not fit', ({ reported }) => {
      if (!reported.some(({ kind }) => kind === 'online-cpus-changed' || kind === 'cpu-bound-changed')) return;
      kubelet.adoptAgain();
      retry();
    });
    hangup.addEventListener('hangup', reload, { signal });
    labels.onChange = reload;
    kubelet.onAccept = retry;
    const { file } = loaded;
    if (file) new ConfigFileWatch({ path: file.path, known: file.text, onChange: reload, signal });
    return undefined;
  },
};
