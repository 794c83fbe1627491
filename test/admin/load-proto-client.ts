/* eslint-disable @typescript-eslint/no-explicit-any -- messages of another codec have no generated types */
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { join } from 'node:path';
import { callDeadline } from '../support/wait-until';

const PROTO_ROOT = join(__dirname, '../../proto');

/** A client of another gRPC codec, made from the proto files without the generated code. */
export function loadProtoClient(
  file: string,
  service: string,
  address: string,
  options: grpc.ClientOptions = {},
): grpc.Client & Record<string, any> {
  const definition = loadSync(file, { includeDirs: [PROTO_ROOT], longs: Number, enums: String, oneofs: true });
  const root = grpc.loadPackageDefinition(definition);
  const Client = service.split('.').reduce<any>((at, name) => at[name], root);
  return new Client(address, grpc.credentials.createInsecure(), options);
}

export function callUnary(client: grpc.Client & Record<string, any>, method: string, request: object): Promise<any> {
  return new Promise((resolve, reject) => {
    client[method](request, { deadline: callDeadline() }, (error: Error | null, response: unknown) => {
      if (error) reject(error);
      else resolve(response);
    });
  });
}

/** Reads the messages of a stream one by one; undefined after its end. */
export function readOneByOne(stream: NodeJS.ReadableStream): () => Promise<any> {
  const iterator = stream[Symbol.asyncIterator]();
  return async () => {
    const { value, done } = await iterator.next();
    return done ? undefined : value;
  };
}
