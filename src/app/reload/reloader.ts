import { setImmediate } from 'node:timers/promises';
import { CpusetdError } from '../../core/errors';
import type { Settings } from '../../core/model/settings';
import { changeSettings, planChanges } from '../../core/transition';
import type { Config, LiveOptions, Loaded, LoadedConfig, Proposal } from '../config';
import { toSettings, type ConfigInForce } from '../config/settings';
import type { DaemonContext } from '../context';
import type { Transactor } from '../transaction/transactor';

export interface ReloaderParts {
  readonly context: Pick<DaemonContext, 'model' | 'alarms' | 'events' | 'faults' | 'log' | 'signal'>;
  readonly transactor: Pick<Transactor, 'change'>;
  readonly options: LiveOptions;
  /** Puts the options together, with the file as it is now. */
  readonly load: () => Promise<LoadedConfig>;
  /** Adds the kubelet's reservation where these options have none. */
  readonly withReservation: (config: Config) => ConfigInForce;
}

/**
 * Takes over changed options while the daemon runs. A file with a fault changes nothing and is an alarm. Of a good one the options that can be changed
 * live are taken over in one transaction, like every other change of the node; those that need a restart are told. Nothing that runs moves: new
 * rules are for new containers, as after a restart.
 */
export class Reloader {
  private running: Promise<void> | undefined;
  private isDue = false;

  constructor(private readonly parts: ReloaderParts) {}

  /** Reads the options again, one time after another. Never rejects. Calls while it reads lead to one more reading. */
  reload(): Promise<void> {
    this.isDue = true;
    this.running ??= this.run().finally(() => (this.running = undefined));
    return this.running;
  }

  private async run(): Promise<void> {
    const { faults, signal } = this.parts.context;
    while (this.isDue && !signal.aborted) {
      this.isDue = false;
      await faults.containAsync('reading the options again', () => this.once());
    }
  }

  private async once(): Promise<void> {
    const { options, load, context } = this.parts;
    const loaded = await load();
    if (context.signal.aborted) return;
    if (!loaded.ok) {
      this.refuse(loaded.problems);
      return;
    }
    const proposal = options.propose(loaded);
    try {
      this.takeOver(proposal, this.rulesOf(proposal, loaded));
    } catch (error) {
      if (!(error instanceof CpusetdError)) throw error;
      this.refuse([error.message]);
      return;
    }
    // The parts that follow options come after the line and the record that tell of the change, which are made after answers.
    await setImmediate();
    if (proposal.changes.length > 0) context.events.emit('optionsChanged', options.config);
    context.events.emit('changed');
  }

  /** Throws CpusetdError for options that this machine can't have. */
  private rulesOf({ config, changes }: Proposal, { placeOf }: Loaded): Settings | undefined {
    const { model } = this.parts.context;
    if (changes.length === 0) return undefined;
    const settings = toSettings(this.parts.withReservation(config), model.topology, placeOf);
    return JSON.stringify(settings) === JSON.stringify(model.settings) ? undefined : settings;
  }

  private takeOver(proposal: Proposal, settings: Settings | undefined): void {
    const { context, transactor, options } = this.parts;
    const { alarms, log } = context;
    const { changes, pending } = proposal;
    const before = options.pending;
    if (changes.length > 0)
      transactor.change((draft) => {
        draft.report({ kind: 'settings-changed', changes });
        return settings ? changeSettings(draft, settings) : planChanges(draft);
      });
    options.take(proposal);
    alarms.clear('config-refused', '');
    if (pending.length > 0 && JSON.stringify(pending) !== JSON.stringify(before))
      log.warn({ pending }, 'options were changed that need a restart: they are not in force');
    if (changes.length === 0 && pending.length === 0) log.info('the options were read again, and are those in force');
  }

  private refuse(problems: readonly string[]): void {
    const { alarms, events } = this.parts.context;
    alarms.update(
      'config-refused',
      '',
      `the options were read again and can't be taken, so nothing was changed: ${problems.join('; ')}`,
    );
    events.emit('changed');
  }
}
