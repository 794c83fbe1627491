import { Socket } from 'node:net';
import type { Frame } from '../../../../src/cri/proxy/http2/frame';
import { FrameWriter } from '../../../../src/cri/proxy/http2/frame-writer';

function writerOn(socket = new Socket()) {
  const written: string[] = [];
  jest.spyOn(socket, 'write').mockImplementation((bytes) => written.push(String(bytes)) > 0);
  Object.defineProperty(socket, 'writable', { value: true });
  return { writer: new FrameWriter(socket), written };
}

const frameOf = (buffer: Buffer, start: number, end: number) => ({ buffer, start, end }) as Frame;

test('neighbouring frames of one buffer are written as one piece', () => {
  const { writer, written } = writerOn();
  const buffer = Buffer.from('abcdef');
  writer.pass(frameOf(buffer, 0, 2));
  writer.pass(frameOf(buffer, 2, 4));
  writer.pass(frameOf(buffer, 5, 6));
  expect(written).toEqual([]);
  writer.flush();
  expect(written).toEqual(['abcd', 'f']);
});

test('frames of the proxy keep their place between forwarded ones', () => {
  const { writer, written } = writerOn();
  const buffer = Buffer.from('abcd');
  writer.pass(frameOf(buffer, 0, 2));
  writer.send(Buffer.from('own'));
  writer.pass(frameOf(buffer, 2, 4));
  writer.flush();
  writer.flush();
  expect(written).toEqual(['ab', 'own', 'cd']);
});

test('without a socket frames are dropped', () => {
  const writer = new FrameWriter(undefined);
  writer.send(Buffer.from('own'));
  writer.flush();
  expect([writer.isFull, writer.bufferedBytes]).toEqual([false, 0]);
});
