import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { readCpuSeconds } from '../../support/cpu-seconds';
import type { AnswerTo, Failure, Question } from './questions';

/**
 * The CPU time after which a question counts as one that the kubelet never answers, in seconds: a busy machine makes no
 * difference.
 */
const LIMIT_SECONDS = 5;
const LOOK_MS = 1000;

/** The answer to such a question. */
export const NEVER_ANSWERED: Failure = { error: 'the kubelet does not answer' };

interface Waiting {
  readonly question: Question;
  /** It is asked again, of a process that was started again. */
  readonly isRepeated?: true;
  readonly give: (answer: never) => void;
  readonly fail: (error: Error) => void;
}

/** The kubelet's code in a process of its own, which answers questions in their order. */
export class AskKubelet {
  private child: ChildProcessWithoutNullStreams;
  private waiting: Waiting[] = [];
  /**
   * The questions that the next ones follow on: about the machine, the policy, and all since the start of a kubelet.
   */
  private before: Question[] = [];
  private timer: NodeJS.Timeout | undefined;

  /** @param program the built kubelet-oracle */
  constructor(private readonly program: string) {
    this.child = this.start();
  }

  /** Questions that are asked without waiting for answers are answered faster. */
  ask<Q extends Question>(question: Q): Promise<AnswerTo<Q>> {
    return new Promise((give, fail) => {
      this.waiting.push({ question, give: give, fail });
      if (this.waiting.length === 1) this.watch();
      this.send(question);
    });
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    if (this.child.exitCode !== null) return;
    const closed = once(this.child, 'close');
    this.child.stdin.end();
    await closed;
  }

  private start(): ChildProcessWithoutNullStreams {
    const child = spawn(this.program, [], { stdio: ['pipe', 'pipe', 'pipe'] });
    let complaint = '';
    child.stderr.on('data', (text) => (complaint = `${complaint}${String(text)}`.slice(-4096)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (child === this.child) this.receive(line);
    });
    child.stdin.on('error', () => {}); // `close` follows, and tells
    child.on('close', (status) => {
      if (child !== this.child) return;
      const error = new Error(`${this.program} ended with ${status}: ${complaint}`);
      for (const { fail } of this.waiting.splice(0)) fail(error);
    });
    return child;
  }

  private send(question: Question): void {
    this.child.stdin.write(`${JSON.stringify(question)}\n`);
  }

  private receive(line: string): void {
    const answered = this.waiting.shift();
    if (!answered) throw new Error(`${this.program} said what nobody had asked: ${line}`);
    this.watch();
    if (!answered.isRepeated) this.remember(answered.question);
    answered.give(JSON.parse(line) as never);
  }

  private remember(question: Question): void {
    if (question.op === 'machine') this.before = [];
    if (question.op === 'policy' || question.op === 'kubelet')
      this.before = this.before.filter(({ op }) => op === 'machine' || (question.op === 'kubelet' && op === 'policy'));
    if (!['allocate', 'hints', 'merge', 'time'].includes(question.op)) this.before.push(question);
  }

  /** Looks at the process while an answer is due: its CPU time counts from the first look after the last answer. */
  private watch(): void {
    clearInterval(this.timer);
    if (this.waiting.length === 0) return;
    let before: number | undefined;
    this.timer = setInterval(() => {
      const { pid, exitCode, signalCode } = this.child;
      if (pid === undefined || exitCode !== null || signalCode !== null) return; // `close` tells
      const now = readCpuSeconds(pid);
      before ??= now;
      if (now - before > LIMIT_SECONDS) this.giveUp();
    }, LOOK_MS);
  }

  /** Starts the process again, as it was before the question that it does not answer. */
  private giveUp(): void {
    const [hung, ...rest] = this.waiting;
    const ended = this.child;
    this.child = this.start();
    ended.kill('SIGKILL');
    const again = this.before.map((question) => ({
      question,
      isRepeated: true as const,
      give: () => {},
      fail: hung!.fail,
    }));
    this.waiting = [...again, ...rest.filter(({ isRepeated }) => !isRepeated)];
    for (const { question } of this.waiting) this.send(question);
    this.watch();
    hung!.give(NEVER_ANSWERED as never);
  }
}
