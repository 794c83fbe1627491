import { loadPackageDefinition, Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { join } from 'node:path';

const definition = loadSync(join(__dirname, '../../../proto/cri/v1/cri.proto'), { keepCase: false, longs: Number });
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- proto-loader builds its classes at run time
const { service } = (loadPackageDefinition(definition) as any).runtime.v1.RuntimeService;

/** A gRPC server on a real socket, with a codec that is independent of the generated one. */
export async function serveRuntime(socket: string, handlers: UntypedServiceImplementation): Promise<Server> {
  const server = new Server({ 'grpc.max_send_message_length': -1 });
  server.addService(service, handlers);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    );
  });
  return server;
}
