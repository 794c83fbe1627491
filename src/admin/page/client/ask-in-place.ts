import { find, findInput, parse } from './elements';

/** Answers the what-if box without loading the page again. */
export function askInPlace(): void {
  const form = find('fit');
  const box = findInput('cpus');
  const answer = find('fit-answer');
  let asked = 0;
  const ask = async (): Promise<void> => {
    const number = ++asked;
    const response = await fetch(`/fit?cpus=${encodeURIComponent(box.value)}`);
    if (!response.ok) throw new Error(`status ${response.status}`);
    const text = await response.text();
    if (number === asked) answer.replaceChildren(parse(text));
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    ask().catch(() => {
      answer.textContent = 'cpusetd did not answer; ask again';
    });
  });
}
