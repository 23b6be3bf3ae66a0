# Bundles the sources with their libraries. Nothing of this stage but dist/ is in the image.
FROM node:20-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
COPY client ./client
COPY pages ./pages
RUN npm run build

FROM node:20-slim
# A container's loopback reaches nobody, so it listens everywhere. AUTH_MODE is left unset on purpose:
# the made-up data of the sandbox needs none, and a real upstream must not be opened by this file.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000 STATE_DIR=state/gateway
WORKDIR /app
COPY package.json ./
COPY --from=build /app/dist ./dist
# What must survive a restart: mount a volume here to keep it longer than the container. Any user of a container
# may write here, so the gateway makes a folder of its own in it.
RUN mkdir -m 1777 state
USER node
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
