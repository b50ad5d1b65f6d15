"""The method: storage, design, play, rewards, learner, engine, weights, workers."""
