import { packArchive } from '../../../src/cli/report/archive';
import { extractReport } from './extract';

const at = new Date('2026-11-24T10:00:00Z');

test('the same files and time give the same bytes, which any tar reads, in their order', async () => {
  const files = [
    { name: 'b.json', text: 'äöü\n' },
    { name: 'a/deep.txt', text: '' },
    { name: 'long.txt', text: 'x'.repeat(2_000_000) },
  ];
  const archive = await packArchive('folder', files, at);
  expect(await packArchive('folder', files, at)).toEqual(archive);
  expect([...(await extractReport(archive))]).toEqual(files.map(({ name, text }) => [name, text]));
});
