import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A folder like /proc with interrupts that can be moved. */
export class FakeIrqs {
  constructor(readonly procRoot: string) {}

  /** A machine whose interrupts have these affinities. */
  static make(procRoot: string, irqs: Readonly<Record<string, string>>, bootId = 'boot-1'): FakeIrqs {
    mkdirSync(join(procRoot, 'sys/kernel/random'), { recursive: true });
    writeFileSync(join(procRoot, 'sys/kernel/random/boot_id'), `${bootId}\n`);
    mkdirSync(join(procRoot, 'irq'));
    writeFileSync(join(procRoot, 'irq/default_smp_affinity'), 'ff\n');
    const fake = new FakeIrqs(procRoot);
    for (const [irq, list] of Object.entries(irqs)) fake.set(irq, list);
    return fake;
  }

  set(irq: string, list: string): void {
    mkdirSync(join(this.procRoot, 'irq', irq, `dev${irq}`), { recursive: true });
    writeFileSync(join(this.procRoot, 'irq', irq, 'smp_affinity_list'), `${list}\n`);
  }

  remove(irq: string): void {
    rmSync(join(this.procRoot, 'irq', irq), { recursive: true });
  }

  /** The affinities now. A file keeps what is behind a shorter text; the kernel does not. */
  get shown(): Record<string, string> {
    const first = (file: string): string => readFileSync(join(this.procRoot, 'irq', file), 'utf8').split('\n')[0]!;
    const irqs = readdirSync(join(this.procRoot, 'irq')).filter((name) => /^\d+$/.test(name));
    return {
      ...Object.fromEntries(irqs.map((irq) => [irq, first(`${irq}/smp_affinity_list`)])),
      default: first('default_smp_affinity'),
    };
  }
}
